package conformance

import (
	"fmt"
	"strings"
	"testing"

	"isospin/test/rig"
)

// TestTags: behaviour.md, section 7, the same for every collection with tags.
func TestTags(t *testing.T) {
	c := quick(t)
	m := c.Who("M")
	net := m.Make("/networks", "network", map[string]any{"name": "n"})["id"]
	made := map[string]string{
		"networks":        fmt.Sprint(net),
		"subnets":         fmt.Sprint(m.Make("/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "10.0.0.0/24"})["id"]),
		"ports":           fmt.Sprint(m.Make("/ports", "port", map[string]any{"network_id": net})["id"]),
		"security-groups": fmt.Sprint(m.Make("/security-groups", "security_group", map[string]any{"name": "g"})["id"]),
	}
	for path, id := range made {
		t.Run(path, func(t *testing.T) { tagSteps(t, c, path, id) })
	}
}

func tagSteps(t *testing.T, c rig.Caller, path, id string) {
	key := strings.ReplaceAll(path, "-", "_")
	one := strings.TrimSuffix(key, "s")
	long := strings.Repeat("x", 256)
	var many []string
	for i := range 51 {
		many = append(many, fmt.Sprintf("%q", fmt.Sprint("t", i)))
	}
	first := c.Get("/"+path+"/"+id, one)["revision_number"]
	v := rig.Vars{"p": "/" + path + "/" + id, "id": id}
	c.Run(t, v, []rig.Step{
		{As: "M", Do: "GET ${p}/tags", Want: "200", Has: "tags.# = 0"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": ["a", "b"]}`, Want: "200", Has: `tags = ["a", "b"]`},
		{As: "M", Do: "GET ${p}", Want: "200", Has: one + `.tags = ["a", "b"]`},
		{As: "M", Do: "POST ${p}/tags", Body: `{"tags": ["b", "c"]}`, Want: "200", Has: `tags = ["b", "c"]`},
		{As: "M", Do: "GET ${p}/tags", Want: "200", Has: `tags = ["a", "b", "c"]`},
		{As: "M", Do: "PUT ${p}/tags/d", Want: "201"},
		{As: "M", Do: "PUT ${p}/tags/d", Want: "201"},
		{As: "M", Do: "GET ${p}/tags/d", Want: "204"},
		{As: "M", Do: "GET ${p}/tags/e", Want: "404 TagNotFound"},
		{As: "M", Do: "DELETE ${p}/tags/e", Want: "404 TagNotFound"},
		{As: "M", Do: "DELETE ${p}/tags/d", Want: "204"},
		{As: "M", Do: "POST ${p}/tags/d", Want: "405"},
		{As: "M", Do: "PATCH ${p}/tags", Want: "405"},
		{As: "M", Do: "GET ${p}/tags/d/e", Want: "404"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": ["a", "a"]}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": ["` + long + `"]}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": [1]}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": null}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": [], "x": 1}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Want: "400"},
		{As: "M", Do: "PUT ${p}/tags", Body: `{"tags": [` + strings.Join(many, ",") + `]}`, Want: "400"},
		{As: "M", Do: "PUT ${p}/tags/" + long, Want: "400"},
		{As: "M", Do: "DELETE ${p}/tags", Body: `{}`, Want: "400"},
		// Filters: the object has a, b and c.
		{As: "M", Do: "GET /" + path + "?tags=a,b", Want: "200", Has: key + ".# = 1\n" + key + ".0.id = \"${id}\""},
		{As: "M", Do: "GET /" + path + "?tags=a&tags=b", Want: "200", Has: key + ".# = 1"},
		{As: "M", Do: "GET /" + path + "?tags=a,z", Want: "200", Has: key + ".# = 0"},
		{As: "M", Do: "GET /" + path + "?tags=", Want: "200", Has: key + ".# = 0"},
		{As: "M", Do: "GET /" + path + "?tags-any=z,c", Want: "200", Has: key + ".# = 1"},
		{As: "M", Do: "GET /" + path + "?tags-any=z", Want: "200", Has: key + ".# = 0"},
		{As: "M", Do: "GET /" + path + "?id=${id}&not-tags=a,z", Want: "200", Has: key + ".# = 1"},
		{As: "M", Do: "GET /" + path + "?id=${id}&not-tags=a,b", Want: "200", Has: key + ".# = 0"},
		{As: "M", Do: "GET /" + path + "?id=${id}&not-tags-any=y,z", Want: "200", Has: key + ".# = 1"},
		{As: "M", Do: "GET /" + path + "?id=${id}&not-tags-any=a,z", Want: "200", Has: key + ".# = 0"},
		// Who may what.
		{As: "R", Do: "GET ${p}/tags", Want: "200", Has: "tags.# = 3"},
		{As: "R", Do: "PUT ${p}/tags", Body: `{"tags": []}`, Want: "403 PolicyNotAuthorized"},
		{As: "R", Do: "DELETE ${p}/tags", Want: "403"},
		{As: "O", Do: "GET ${p}/tags", Want: "404 TagResourceNotFound"},
		{As: "O", Do: "PUT ${p}/tags/x", Want: "404 TagResourceNotFound"},
		{As: "O", Do: "POST ${p}/tags", Body: `{"tags": ["x"]}`, Want: "404 TagResourceNotFound"},
		{As: "O", Do: "DELETE ${p}/tags/a", Want: "404 TagResourceNotFound"},
		{As: "M", Do: "GET /" + path + "/00000000-0000-4000-8000-00000000dead/tags", Want: "404 TagResourceNotFound"},
		{As: "M", Do: "PUT /" + path + "/nope/tags/x", Want: "404 TagResourceNotFound"},
		{As: "M", Do: "PUT ${p}", Body: `{"` + one + `": {"tags": ["x"]}}`, Want: "400"},
		{As: "M", Do: "DELETE ${p}/tags", Want: "204"},
		{As: "M", Do: "GET ${p}/tags", Want: "200", Has: "tags.# = 0"},
		{As: "M", Do: "GET /" + path + "?tags-any=a,b,c,d", Want: "200", Has: key + ".# = 0"},
	})
	last := c.Get("/"+path+"/"+id, one)["revision_number"]
	if fmt.Sprint(last) != fmt.Sprint(plus(t, first, 5)) {
		t.Errorf("five changes of tags and the revision went from %v to %v", first, last)
	}
}

func plus(t *testing.T, n any, more int) int {
	t.Helper()
	var i int
	if _, err := fmt.Sscan(fmt.Sprint(n), &i); err != nil {
		t.Fatal(err)
	}
	return i + more
}

// TestTagsOfNewPorts: only ports take tags as they are made.
func TestTagsOfNewPorts(t *testing.T) {
	quick(t).Run(t, rig.Vars{}, []rig.Step{
		{As: "M", Do: "POST /networks", Body: `{"network": {"tags": ["a"]}}`, Want: "400"},
		{As: "M", Do: "POST /networks", Body: `{"network": {}}`, Want: "201", Save: "net=network.id", Has: "network.tags.# = 0"},
		{As: "M", Do: "POST /ports", Body: `{"ports": [{"network_id": "${net}", "tags": ["a", "b"]}, {"network_id": "${net}", "tags": []}]}`, Want: "201",
			Save: "p=ports.0.id", Has: `ports.0.tags = ["a", "b"]` + "\nports.1.tags = []"},
		{As: "M", Do: "POST /ports", Body: `{"port": {"network_id": "${net}", "tags": ["a", "a"]}}`, Want: "400"},
		{As: "M", Do: "GET /ports?tags=a", Want: "200", Has: "ports.# = 1\nports.0.id = \"${p}\""},
		{As: "M", Do: "GET /ports?not-tags-any=a", Want: "200", Has: "ports.# = 1"},
		{As: "M", Do: "DELETE /ports/${p}", Want: "204"},
		{As: "M", Do: "GET /ports?tags=a", Want: "200", Has: "ports.# = 0"},
	})
}
