package conformance

import (
	"testing"

	"isospin/test/rig"
)

// TestConntrackHelpers: services/conntrack_helper/plugin.py.
func TestConntrackHelpers(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		v := rig.Vars{}
		helper := func(h, protocol, port string) string {
			return `{"conntrack_helper": {"helper": "` + h + `", "protocol": "` + protocol + `", "port": ` + port + `}}`
		}
		c.Run(t, v, []rig.Step{
			{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r=router.id", Has: "router.conntrack_helpers = []\nrouter.revision_number = 1"},
			{As: "M", Do: "POST /routers", Body: `{"router": {}}`, Want: "201", Save: "r2=router.id"},
			{As: "M", Do: "GET /routers/${r}/conntrack_helpers", Want: "200", Has: "conntrack_helpers = []"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "69"), Want: "201", Save: "h=conntrack_helper.id",
				Has: "conntrack_helper.helper = \"tftp\"\nconntrack_helper.protocol = \"udp\"\nconntrack_helper.port = 69\nconntrack_helper.router_id absent\nconntrack_helper.project_id absent"},
			{As: "M", Do: "GET /routers/${r}", Want: "200", Has: "router.conntrack_helpers = [{\"protocol\": \"udp\", \"port\": 69, \"helper\": \"tftp\"}]\nrouter.revision_number = 2"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "69"), Want: "400 BadRequest"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", `"70"`), Want: "201", Save: "h2=conntrack_helper.id", Has: "conntrack_helper.port = 70"},
			{As: "M", Do: "POST /routers/${r2}/conntrack_helpers", Body: helper("tftp", "UDP", "69"), Want: "201"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "tcp", "69"), Want: "400 InvalidProtocolForHelper"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("magic", "tcp", "69"), Want: "400 ConntrackHelperNotAllowed"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "0"), Want: "400"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "65536"), Want: "400"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "warp", "69"), Want: "400"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: `{"conntrack_helper": {"helper": "tftp", "port": 69}}`, Want: "400"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: `{"conntrack_helper": {"helper": "tftp", "port": 69, "protocol": null}}`, Want: "400"},
			{As: "M", Do: "POST /routers/" + absent + "/conntrack_helpers", Body: helper("tftp", "udp", "69"), Want: "404 RouterNotFound"},
			{As: "M", Do: "PUT /routers/${r}/conntrack_helpers/${h2}", Body: `{"conntrack_helper": {"port": 69}}`, Want: "400 BadRequest"},
			{As: "M", Do: "PUT /routers/${r}/conntrack_helpers/${h2}", Body: `{"conntrack_helper": {"helper": "sip", "port": 5060}}`, Want: "200", Has: "conntrack_helper.helper = \"sip\"\nconntrack_helper.protocol = \"udp\""},
			{As: "M", Do: "PUT /routers/${r}/conntrack_helpers/${h2}", Body: `{"conntrack_helper": {"protocol": "tcp"}}`, Want: "200"},
			{As: "M", Do: "PUT /routers/${r}/conntrack_helpers/${h2}", Body: `{"conntrack_helper": {"helper": "ftp", "protocol": "udp"}}`, Want: "400 InvalidProtocolForHelper"},
			{As: "M", Do: "PUT /routers/${r}/conntrack_helpers/${h2}", Body: `{"conntrack_helper": {}}`, Want: "200"},
			{As: "M", Do: "GET /routers/${r}/conntrack_helpers?helper=sip&port=5060&protocol=tcp", Want: "200", Has: "conntrack_helpers.# = 1\nconntrack_helpers.0.id = \"${h2}\""},
			{As: "M", Do: "GET /routers/${r}/conntrack_helpers?sort_key=port&sort_dir=desc&fields=port", Want: "200", Has: "conntrack_helpers = [{\"port\": 5060}, {\"port\": 69}]"},
			{As: "M", Do: "GET /routers/${r}/conntrack_helpers?router_id=${r}", Want: "400"},
			{As: "M", Do: "GET /routers/${r2}/conntrack_helpers/${h}", Want: "404 ConntrackHelperNotFound"},
			{As: "M", Do: "PUT /routers/${r2}/conntrack_helpers/${h}", Body: `{"conntrack_helper": {"port": 1}}`, Want: "404 ConntrackHelperNotFound"},
			{As: "M", Do: "DELETE /routers/${r2}/conntrack_helpers/${h}", Want: "404 ConntrackHelperNotFound"},
			{As: "O", Do: "GET /routers/${r}/conntrack_helpers", Want: "404 RouterNotFound"},
			{As: "O", Do: "GET /routers/${r}/conntrack_helpers/${h}", Want: "404 RouterNotFound"},
			{As: "O", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "71"), Want: "404 RouterNotFound"},
			{As: "O", Do: "DELETE /routers/${r}/conntrack_helpers/${h}", Want: "404 RouterNotFound"},
			{As: "R", Do: "GET /routers/${r}/conntrack_helpers/${h}", Want: "200"},
			{As: "R", Do: "POST /routers/${r}/conntrack_helpers", Body: helper("tftp", "udp", "71"), Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "PUT /routers/${r}/conntrack_helpers/${h}", Body: `{"conntrack_helper": {"port": 1}}`, Want: "403 PolicyNotAuthorized"},
			{As: "R", Do: "DELETE /routers/${r}/conntrack_helpers/${h}", Want: "403 PolicyNotAuthorized"},
			{As: "M", Do: "POST /routers/${r}/conntrack_helpers", Body: `{"conntrack_helpers": [{"helper": "ftp", "protocol": "tcp", "port": 21}, {"helper": "irc", "protocol": "tcp", "port": 6667}]}`, Want: "201", Has: "conntrack_helpers.# = 2"},
			{As: "M", Do: "DELETE /routers/${r}/conntrack_helpers/${h}", Want: "204"},
			{As: "M", Do: "GET /routers/${r}/conntrack_helpers/${h}", Want: "404 ConntrackHelperNotFound"},
			{As: "M", Do: "GET /routers?id=${r}", Want: "200", Has: "routers.0.conntrack_helpers.# = 3"},
			{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
			{As: "M", Do: "GET /routers/${r2}/conntrack_helpers", Want: "200", Has: "conntrack_helpers.# = 1"},
		})
	})
}
