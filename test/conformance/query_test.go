package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"isospin/test/rig"
)

// TestQueries: behaviour.md, section 6.
func TestQueries(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c.Run(t, rig.Vars{}, []rig.Step{
			{As: "M", Do: "POST /networks", Body: `{"networks": [{"name": "a"}, {"name": "b", "admin_state_up": false}, {"name": ""}]}`, Want: "201", Save: "a=networks.0.id b=networks.1.id"},
			{As: "M", Do: "GET /networks?name=a&name=b", Want: "200", Has: "networks.# = 2"},
			{As: "M", Do: "GET /networks?name=a&id=${b}", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?name=", Want: "200", Has: "networks.# = 1"},
			{As: "M", Do: "GET /networks?id=", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?id=" + nobody, Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?nope=1", Want: "400"},
			{As: "M", Do: "GET /networks?subnets=1", Want: "400"},
			{As: "M", Do: "GET /networks?admin_state_up=no", Want: "200", Has: "networks.# = 1\nnetworks.0.id = \"${b}\""},
			{As: "M", Do: "GET /networks?admin_state_up=maybe", Want: "400"},
			{As: "M", Do: "GET /networks?tenant_id=" + rig.ProjectM, Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?project_id=" + rig.ProjectO, Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?revision_number=1", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?status=ACTIVE", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?shared=maybe", Want: "400"},
			{As: "M", Do: "GET /networks?fields=name&fields=id&name=a", Want: "200", Has: "networks = [{\"id\": \"${a}\", \"name\": \"a\"}]"},
			{As: "M", Do: "GET /networks/${a}?fields=name", Want: "200", Has: "network = {\"name\": \"a\"}"},
			{As: "M", Do: "GET /networks?fields=nope&name=a", Want: "200", Has: "networks = [{}]"},
			{As: "M", Do: "GET /networks?fields=provider:network_type&name=a", Want: "200", Has: "networks = [{}]"},
			{As: "M", Do: "GET /networks?fields=&name=a", Want: "200", Has: "networks = [{}]"},
			{As: "M", Do: "GET /networks?fields=subnets&fields=shared&name=a", Want: "200", Has: "networks = [{\"subnets\": [], \"shared\": false}]"},
			{As: "M", Do: "GET /networks?sort_key=name", Want: "400"},
			{As: "M", Do: "GET /networks?sort_key=name&sort_dir=up", Want: "400"},
			{As: "M", Do: "GET /networks?sort_key=subnets&sort_dir=asc", Want: "400"},
			{As: "M", Do: "GET /networks?sort_key=name&sort_dir=desc", Want: "200", Has: "networks.0.name = \"b\"\nnetworks.2.name = \"\""},
			{As: "M", Do: "GET /networks?limit=-1", Want: "400"},
			{As: "M", Do: "GET /networks?limit=x", Want: "400"},
			{As: "M", Do: "GET /networks?limit=0", Want: "200", Has: "networks.# = 3\nnetworks_links absent"},
			{As: "M", Do: "GET /networks?limit=99999999999999999999999", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?limit=1&marker=" + nobody, Want: "404 NetworkNotFound"},
			{As: "M", Do: "GET /networks?marker=" + nobody, Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /security-groups?limit=1&marker=" + nobody, Want: "404 SecurityGroupNotFound"},
			{As: "O", Do: "GET /networks?limit=1&marker=${a}", Want: "404 NetworkNotFound"},
			{As: "M", Do: "GET /networks?limit=5", Want: "200", Has: "networks_links.# = 1\nnetworks_links.0.rel = \"previous\""},
			{As: "M", Do: "GET /networks?limit=3", Want: "200", Has: "networks_links.# = 2\nnetworks_links.0.rel = \"next\""},
			{As: "M", Do: "GET /networks?changed_since=2020-01-01T00:00:00Z", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?changed-since=2020-01-01T00:00:00", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?changed_since=9999-01-01T00:00:00Z", Want: "200", Has: "networks.# = 0"},
			{As: "M", Do: "GET /networks?changed_since=9999-01-01T00:00:00Z&changed_since=2020-01-01T00:00:00Z", Want: "200", Has: "networks.# = 3"},
			{As: "M", Do: "GET /networks?changed_since=yesterday", Want: "400 InvalidInput"},
			{As: "M", Do: "GET /networks?name=%00", Want: "400"},
			{As: "M", Do: "GET /networks?%zz", Want: "400"},
		})
	})
}

// TestPages walks a list of 25 forwards and backwards by its own links.
func TestPages(t *testing.T) {
	everywhere(t, func(t *testing.T, c rig.Caller) {
		c = c.Who("M")
		var bulk []string
		for i := range 25 {
			bulk = append(bulk, fmt.Sprintf(`{"name": "n%02d"}`, i%5))
		}
		if a := c.Do("POST", "/networks", `{"networks": [`+strings.Join(bulk, ",")+`]}`); a.Status != 201 {
			t.Fatal(string(a.Body))
		}
		var all []string
		for _, n := range c.List("/networks?sort_key=name&sort_dir=desc", "networks") {
			all = append(all, n["id"].(string)) //nolint:errcheck // a test may panic
		}
		for _, rel := range []string{"next", "previous"} {
			var seen []string
			path := "/networks?sort_key=name&sort_dir=desc&limit=7"
			if rel == "previous" {
				path += "&page_reverse=True"
			}
			for path != "" {
				a := c.Do("GET", path, nil)
				if a.Status != 200 || len(seen) > 40 {
					t.Fatalf("%s: %d %s", path, a.Status, a.Body)
				}
				var page []string
				for _, n := range a.Items("networks") {
					page = append(page, n["id"].(string)) //nolint:errcheck // a test may panic
				}
				if rel == "next" {
					seen = append(seen, page...)
				} else {
					seen = append(page, seen...)
				}
				path = ""
				for _, l := range a.Items("networks_links") {
					u, err := url.Parse(l["href"].(string)) //nolint:errcheck // a test may panic
					if err != nil || !strings.HasPrefix(u.String(), c.URL) {
						t.Fatal(u, err)
					}
					if l["rel"] == rel && len(page) > 0 {
						path = u.Path + "?" + u.RawQuery
					}
				}
			}
			if !slices.Equal(seen, all) {
				t.Errorf("%s: %v\nnot %v", rel, seen, all)
			}
		}
	})
}
