package conformance

import (
	"strings"
	"testing"

	"isospin/test/rig"
)

const haDriver = "neutron.services.l3_router.service_providers.ha.HaDriver"

// TestFlavors: neutron/db/flavors_db.py, and docs/differences.md where it answers 500.
func TestFlavors(t *testing.T) {
	profile := func(rest string) string { return `{"service_profile": {` + rest + `}}` }
	flavor := func(rest string) string { return `{"flavor": {` + rest + `}}` }
	const nobody = "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			// Profiles are an administrator's.
			{As: "M", Do: "POST /service_profiles", Body: profile(`"metainfo": "x"`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /service_profiles", Body: profile(``), Want: "400 ServiceProfileEmpty"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"driver": "no.such.Driver"`), Want: "404 ServiceProfileDriverNotFound"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"metainfo": {"a": 1}`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"metainfo": "` + strings.Repeat("x", 4097) + `"`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"metainfo": "x", "enabled": null`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"metainfo": 7, "description": null`), Want: "201", Save: "info=service_profile.id",
				Has: "service_profile.metainfo = \"7\"\nservice_profile.description = null\nservice_profile.driver = \"\"\nservice_profile.enabled = true\nservice_profile.project_id absent\nservice_profile.flavors absent"},
			{As: "A", Do: "POST /service_profiles", Body: profile(`"driver": "` + haDriver + `"`), Want: "201", Save: "ha=service_profile.id", Has: "service_profile.metainfo = \"\""},
			{As: "A", Do: "POST /service_profiles", Body: `{"service_profiles": [{"metainfo": "x"}]}`, Want: "400"},
			{As: "A", Do: "PUT /service_profiles/${ha}", Body: profile(`"driver": ""`), Want: "400 ServiceProfileEmpty"},
			{As: "A", Do: "PUT /service_profiles/${ha}", Body: profile(`"driver": "nope"`), Want: "404 ServiceProfileDriverNotFound"},
			{As: "A", Do: "PUT /service_profiles/${ha}", Body: profile(`"description": "two hosts"`), Want: "200", Has: "service_profile.description = \"two hosts\""},
			{As: "M", Do: "GET /service_profiles", Want: "200", Has: "service_profiles = []"},
			{As: "M", Do: "GET /service_profiles/${ha}", Want: "404 ServiceProfileNotFound"},
			{As: "A", Do: "GET /service_profiles?driver=" + haDriver, Want: "200", Has: "service_profiles.# = 1"},
			// Flavours are seen by all.
			{As: "M", Do: "POST /flavors", Body: flavor(`"service_type": "L3_ROUTER_NAT"`), Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /flavors", Body: flavor(`"name": "x"`), Want: "400"},
			{As: "A", Do: "POST /flavors", Body: flavor(`"service_type": "COFFEE"`), Want: "400 InvalidServiceType"},
			{As: "A", Do: "POST /flavors", Body: flavor(`"service_type": "L3_ROUTER_NAT", "enabled": null`), Want: "400 InvalidInput"},
			{As: "A", Do: "POST /flavors", Body: flavor(`"service_type": "L3_ROUTER_NAT", "service_profiles": ["` + nobody + `"]`), Want: "404 ServiceProfileNotFound"},
			{As: "A", Do: "POST /flavors", Body: flavor(`"service_type": "L3_ROUTER_NAT", "name": "safe"`), Want: "201", Save: "f=flavor.id",
				Has: "flavor.service_profiles = []\nflavor.enabled = true\nflavor.description = \"\"\nflavor.service_type = \"L3_ROUTER_NAT\"\nflavor.project_id absent"},
			{As: "R", Do: "GET /flavors", Want: "200", Has: "flavors.# = 1"},
			{As: "R", Do: "GET /flavors/${f}?fields=name", Want: "200", Has: "flavor = {\"name\": \"safe\"}"},
			{As: "A", Do: "PUT /flavors/${f}", Body: flavor(`"service_type": "VPN"`), Want: "400"},
			{As: "A", Do: "PUT /flavors/${f}", Body: flavor(`"description": "d"`), Want: "200", Has: "flavor.description = \"d\""},
			// What a flavour offers.
			{As: "A", Do: "GET /flavors/${f}/next_providers", Want: "404 FlavorServiceProfileBindingNotFound"},
			{As: "M", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "${ha}"}}`, Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "POST /flavors/" + nobody + "/service_profiles", Body: `{"service_profile": {"id": "${ha}"}}`, Want: "404 FlavorNotFound"},
			{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "` + nobody + `"}}`, Want: "404 ServiceProfileNotFound"},
			{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {}}`, Want: "400"},
			{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "${ha}"}}`, Want: "201", Has: "service_profile = {\"id\": \"${ha}\"}"},
			{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "${ha}"}}`, Want: "409 FlavorServiceProfileBindingExists"},
			{As: "A", Do: "POST /flavors/${f}/service_profiles", Body: `{"service_profile": {"id": "${info}"}}`, Want: "201"},
			{As: "M", Do: "GET /flavors/${f}", Want: "200", Has: "flavor.service_profiles = [\"${ha}\", \"${info}\"]"},
			{As: "A", Do: "GET /flavors/${f}/service_profiles", Want: "200", Has: "service_profiles.# = 2"},
			{As: "A", Do: "GET /flavors/${f}/service_profiles/${info}", Want: "200", Has: "service_profile.id = \"${info}\""},
			{As: "A", Do: "GET /flavors/${f}/service_profiles/" + nobody, Want: "404 FlavorServiceProfileBindingNotFound"},
			{As: "M", Do: "GET /flavors/${f}/service_profiles", Want: "200", Has: "service_profiles = []"},
			{As: "A", Do: "PUT /flavors/${f}/service_profiles/${info}", Body: `{"service_profile": {}}`, Want: "400"},
			{As: "A", Do: "GET /flavors/${f}/next_providers", Want: "200", Has: "next_providers = [{\"driver\": \"" + haDriver + "\", \"provider\": \"ha\", \"metainfo\": \"\"}]"},
			{As: "A", Do: "GET /flavors/${f}/next_providers?fields=provider", Want: "200", Has: "next_providers = [{\"provider\": \"ha\"}]"},
			{As: "M", Do: "GET /flavors/${f}/next_providers", Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "GET /flavors/" + nobody + "/next_providers", Want: "404 FlavorNotFound"},
			{As: "A", Do: "GET /flavors/${f}/next_providers/x", Want: "404"},
			{As: "A", Do: "POST /flavors/${f}/next_providers", Body: `{}`, Want: "405"},
			// What is offered stays as it is.
			{As: "A", Do: "PUT /service_profiles/${ha}", Body: profile(`"enabled": false`), Want: "409 ServiceProfileInUse"},
			{As: "A", Do: "DELETE /service_profiles/${ha}", Want: "409 ServiceProfileInUse"},
			{As: "A", Do: "PUT /flavors/${f}", Body: flavor(`"service_profiles": ["${info}"]`), Want: "200", Has: "flavor.service_profiles = [\"${info}\"]"},
			{As: "A", Do: "GET /flavors/${f}/next_providers", Want: "404 ServiceProfileDriverNotFound"},
			{As: "A", Do: "PUT /service_profiles/${ha}", Body: profile(`"enabled": false`), Want: "200"},
			{As: "A", Do: "DELETE /flavors/${f}/service_profiles/${ha}", Want: "404 FlavorServiceProfileBindingNotFound"},
			{As: "M", Do: "DELETE /flavors/${f}/service_profiles/${info}", Want: "404 FlavorServiceProfileBindingNotFound"},
			{As: "A", Do: "PUT /flavors/${f}", Body: flavor(`"service_profiles": ["${ha}", "${info}"]`), Want: "200", Has: "flavor.service_profiles = [\"${info}\", \"${ha}\"]"},
			{As: "A", Do: "DELETE /flavors/${f}/service_profiles/${info}", Want: "204"},
			{As: "A", Do: "GET /flavors/${f}/next_providers", Want: "503 ServiceProfileDisabled"},
			{As: "M", Do: "DELETE /flavors/${f}", Want: "403 PolicyNotAuthorized"},
			{As: "A", Do: "DELETE /flavors/${f}", Want: "204"},
			{As: "A", Do: "DELETE /service_profiles/${ha}", Want: "204"},
			{As: "A", Do: "DELETE /service_profiles/${info}", Want: "204"},
			{As: "A", Do: "DELETE /service_profiles/${info}", Want: "404 ServiceProfileNotFound"},
		})
	})
}

// TestServiceProviders: the providers of routers under Neutron's names.
func TestServiceProviders(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "R", Do: "GET /service-providers", Want: "200",
				Has: "service_providers.# = 4\nservice_providers.0 = {\"service_type\": \"L3_ROUTER_NAT\", \"name\": \"dvr\", \"default\": false}"},
			{As: "R", Do: "GET /service-providers?fields=name", Want: "200", Has: "service_providers.3 = {\"name\": \"single_node\"}"},
			{As: "A", Do: "GET /service-providers/ha", Want: "404"},
			{As: "A", Do: "POST /service-providers", Body: `{"service_provider": {"name": "x"}}`, Want: "400"},
			{As: "A", Do: "DELETE /service-providers/ha", Want: "400"},
		})
	})
}

// TestFlavorsOfRouters: what a flavour is good for, and that it stays while something is made by it.
func TestFlavorsOfRouters(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		router := `{"router": {"flavor_id": "${f}"}}`
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "A", Do: "POST /service_profiles", Body: `{"service_profile": {"driver": "neutron.services.l3_router.service_providers.single_node.SingleNodeDriver"}}`, Want: "201", Save: "p=service_profile.id"},
			{As: "A", Do: "POST /flavors", Body: `{"flavor": {"service_type": "L3_ROUTER_NAT", "service_profiles": ["${p}"]}}`, Want: "201", Save: "f=flavor.id", Has: "flavor.service_profiles = [\"${p}\"]"},
			{As: "M", Do: "POST /routers", Body: `{"router": {"flavor_id": "5b9c5d1e-0d83-4d0c-a1ff-7d8b4a8f7d00"}}`, Want: "404 FlavorNotFound"},
			{As: "M", Do: "POST /routers", Body: router, Want: "201", Save: "r=router.id", Has: "router.flavor_id = \"${f}\""},
			{As: "A", Do: "DELETE /flavors/${f}", Want: "409 FlavorInUse"},
			{As: "A", Do: "PUT /flavors/${f}", Body: `{"flavor": {"enabled": false}}`, Want: "200"},
			{As: "M", Do: "POST /routers", Body: router, Want: "503 FlavorDisabled"},
			{As: "M", Do: "DELETE /routers/${r}", Want: "204"},
			{As: "A", Do: "DELETE /flavors/${f}", Want: "204"},
			{As: "A", Do: "POST /flavors", Body: `{"flavor": {"service_type": "L3_ROUTER_NAT"}}`, Want: "201", Save: "f=flavor.id"},
			{As: "M", Do: "POST /routers", Body: router, Want: "404 FlavorServiceProfileBindingNotFound"},
			{As: "A", Do: "POST /flavors", Body: `{"flavor": {"service_type": "VPN", "service_profiles": ["${p}"]}}`, Want: "201", Save: "f=flavor.id"},
			{As: "M", Do: "POST /routers", Body: router, Want: "400 ServiceProviderNotFound"},
		})
	})
}
