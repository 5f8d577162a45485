//go:build conformance

package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/test/rig"
)

// probe is a request that a stranger makes about an object.
type probe struct {
	method, path string
	body         any
	header       map[string]string
}

func (p probe) String() string {
	return fmt.Sprintf("%s %s %s %v", p.method, p.path, jsonOf(p.body), p.header)
}

// instead is the same request about another object.
func (p probe) instead(ids *strings.Replacer) probe {
	p.path = ids.Replace(p.path)
	if p.body != nil {
		p.body = ids.Replace(jsonOf(p.body))
	}
	return p
}

func (p probe) send(c rig.Caller) rig.Answer {
	var body []byte
	switch v := p.body.(type) {
	case nil:
	case string:
		body = []byte(v)
	default:
		body = []byte(jsonOf(v))
	}
	return c.Send(p.method, p.path, body, p.header)
}

// ghost is an identifier of the same form that nothing has.
func ghost(id string) string {
	switch len(id) {
	case 36:
		return "00000000-dead-4000-8000-00000000beef"
	case 32:
		return "00000000dead400080000000000000ff"
	}
	return "ghost"
}

var identifier = regexp.MustCompile(`[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}|[0-9a-f]{32}|\bghost\b`)

// spy is who looks at another project's realm.
type spy struct {
	t       *testing.T
	who     string
	c       rig.Caller
	secrets []string // what no answer may hold unless the request did
	counts  map[int]int
}

// ask sends a probe and fails the test when the answer is a server's error or tells a secret.
func (s *spy) ask(p probe) rig.Answer {
	s.t.Helper()
	a := p.send(s.c)
	if a.Err != nil || a.Status >= 500 && a.Fault() != "NoNetworkAvailable" {
		s.t.Errorf("%s: %s: %d %.300s %v", s.who, p, a.Status, a.Body, a.Err)
	}
	sent := p.path + jsonOf(p.body)
	if u, err := url.PathUnescape(p.path); err == nil {
		sent += u
	}
	for _, secret := range s.secrets {
		if strings.Contains(string(a.Body), secret) && !strings.Contains(sent, secret) {
			s.t.Errorf("%s: %s: the answer tells %s: %.400s", s.who, p, secret, a.Body)
		}
	}
	s.counts[a.Status]++
	return a
}

// blind fails the test unless the probe is answered as if its object did not exist.
func (s *spy) blind(p probe, ids ...string) rig.Answer {
	s.t.Helper()
	var pairs []string
	for _, id := range ids {
		pairs = append(pairs, id, ghost(id))
	}
	other := p.instead(strings.NewReplacer(pairs...))
	a, b := s.ask(p), s.ask(other)
	plain := func(a rig.Answer, sent probe) string {
		text := string(a.Body)
		for _, id := range ids {
			text = strings.ReplaceAll(text, id, "ID")
		}
		return identifier.ReplaceAllString(text, "ID")
	}
	if x, y := plain(a, p), plain(b, other); a.Status != b.Status || a.Status >= 300 && x != y {
		s.t.Errorf("%s: %s: %d %.300s\n\tbut of one that does not exist: %d %.300s", s.who, p, a.Status, x, b.Status, y)
	}
	return a
}

// secretsOf are the ids of a realm's objects and the word that their names have.
func secretsOf(r *realm) []string {
	out := []string{r.secret()}
	for _, o := range r.all {
		if len(o.id) >= 32 && !recipes()[o.res.ID()].common && !recipes()[o.res.ID()].named {
			out = append(out, o.id)
		}
	}
	return out
}

// TestTenants: of all that one project has, another finds nothing out and changes nothing, whatever the request; each
// is answered as if the object did not exist. A reader of the project itself changes nothing either. New collections are tried by themselves.
func TestTenants(t *testing.T) {
	realms := newRealms(t, "M", "O")
	mine, theirs := realms[0], realms[1]
	mine.everything()
	theirs.everything()
	before, all := map[*object]string{}, slices.Clone(mine.all)
	for _, o := range all {
		before[o] = mine.body(o)
	}
	var spies []*spy
	for _, role := range []string{"member,reader", "reader"} {
		spies = append(spies, &spy{t: t, who: role + " of another project", c: mine.c.As(rig.ProjectO, role), secrets: secretsOf(mine), counts: map[int]int{}})
	}
	for _, s := range spies {
		for _, o := range all {
			s.look(mine, o)
			s.write(mine, o, theirs)
		}
		s.lure(mine, theirs)
		t.Log(s.who, s.counts)
	}
	own := &spy{t: t, who: "reader of the project", c: mine.c.Who("R"), counts: map[int]int{}}
	for _, o := range all {
		own.powerless(mine, o)
	}
	t.Log(own.who, own.counts)
	for _, o := range all {
		if after := mine.body(o); standing(after) != standing(before[o]) {
			t.Errorf("%s was\n%s and is\n%s", o.path, before[o], after)
		}
	}
}

// standing leaves out of a body what the server itself goes on to settle: which agents serve a router or a network.
func standing(body string) string {
	return regexp.MustCompile(`,"availability_zones":\[[^]]*\]`).ReplaceAllString(body, "")
}

// look tries all reads of an object.
func (s *spy) look(r *realm, o *object) {
	s.t.Helper()
	common := recipes()[o.res.ID()].common
	get := func(path string) {
		s.t.Helper()
		p := probe{method: "GET", path: path}
		if common {
			s.ask(p)
			return
		}
		s.blind(p, o.id)
	}
	if o.path != "" {
		for _, path := range []string{o.path, o.path + ".json", o.path + "?fields=id", o.path + "/tags", o.path + "/tags/x", o.path + "/nope"} {
			get(path)
		}
		for _, sub := range r.reg.Children(o.res.Collection) {
			for _, path := range []string{"", "?limit=1", "/" + ghost(strings.Repeat("x", 36))} {
				get(o.path + "/" + sub.Path + path)
			}
		}
	}
	if o.parent != nil && !recipes()[o.parent.res.ID()].common {
		s.blind(probe{method: "GET", path: o.at}, o.parent.id)
		if o.path != "" {
			s.blind(probe{method: "GET", path: o.path}, o.parent.id)
		}
	}
	if o.at == "" {
		return
	}
	for _, query := range []string{"", "?limit=1000", "?changed_since=2000-01-01T00:00:00Z", "?limit=1&marker=" + o.id, "?limit=1&page_reverse=True&marker=" + o.id,
		"?fields=id", "?id=" + o.id, "?tags=x", "?not-tags=x", "?tags-any=x", "?not-tags-any=x"} {
		get(o.at + query)
	}
	for _, a := range o.res.Attributes {
		if a.Sort {
			get(o.at + "?sort_dir=desc&sort_key=" + url.QueryEscape(a.Name))
		}
	}
	s.filter(r, o)
}

// filter tries every filter with the value that the object has.
func (s *spy) filter(r *realm, o *object) {
	s.t.Helper()
	if o.path == "" || recipes()[o.res.ID()].common {
		return
	}
	body := r.c.Get(o.path, o.res.Name)
	for _, a := range o.res.Attributes {
		v, there := body[a.Name]
		if !a.Filter || !there || a.Name == "project_id" || a.Name == "tenant_id" {
			continue
		}
		values := []any{v}
		if list, ok := v.([]any); ok {
			values = list
		}
		for _, v := range values {
			switch v.(type) {
			case nil, map[string]any, []any:
				continue
			}
			answer := s.ask(probe{method: "GET", path: o.at + "?" + url.QueryEscape(a.Name) + "=" + url.QueryEscape(fmt.Sprint(v))})
			for _, item := range answer.Items(o.res.Collection) {
				if idOf(item) == o.id {
					s.t.Errorf("%s: the filter %s finds %s", s.who, a.Name, o.path)
				}
			}
		}
	}
	for _, name := range []string{"project_id", "tenant_id"} {
		if a, ok := o.res.Attribute(name); ok && a.Filter {
			for _, item := range s.ask(probe{method: "GET", path: o.at + "?" + name + "=" + r.project()}).Items(o.res.Collection) {
				if item["project_id"] == r.project() {
					s.t.Errorf("%s: the filter %s finds %s", s.who, name, jsonOf(item))
				}
			}
		}
	}
}

// writes are all requests that would change the object.
func writes(r *realm, o *object) []probe {
	if o.path == "" {
		return nil
	}
	change := any(map[string]any{o.res.Name: r.change(o)})
	out := []probe{
		{method: "PUT", path: o.path, body: change},
		{method: "PUT", path: o.path, body: change, header: map[string]string{"If-Match": "revision_number=0"}},
		{method: "PUT", path: o.path, body: change, header: map[string]string{"If-Match": "revision_number=77"}},
		{method: "PUT", path: o.path, body: map[string]any{o.res.Name: map[string]any{"project_id": rig.ProjectO}}},
		{method: "PUT", path: o.path}, {method: "POST", path: o.path, body: change}, {method: "PATCH", path: o.path, body: change},
		{method: "DELETE", path: o.path, header: map[string]string{"If-Match": "revision_number=77"}}, {method: "DELETE", path: o.path},
		{method: "PUT", path: o.path + "/tags", body: map[string]any{"tags": []string{"x"}}}, {method: "POST", path: o.path + "/tags", body: map[string]any{"tags": []string{"x"}}},
		{method: "DELETE", path: o.path + "/tags"}, {method: "PUT", path: o.path + "/tags/x"}, {method: "DELETE", path: o.path + "/tags/x"},
	}
	if r.change(o) != nil { // elsewhere an empty update has nothing to change
		out = append(out, probe{method: "PUT", path: o.path, body: map[string]any{o.res.Name: map[string]any{}}})
	}
	for _, a := range o.res.Actions {
		if a.Method == http.MethodGet {
			continue
		}
		for _, body := range append(deeds()[a.Name], map[string]any{}, nil) {
			out = append(out, probe{method: a.Method, path: o.path + "/" + a.Name, body: body})
		}
	}
	return out
}

// deeds are bodies of actions that mean something.
func deeds() map[string][]any {
	type m = map[string]any
	some := ghost(strings.Repeat("x", 36))
	routes := m{"router": m{"routes": []any{m{"destination": "10.99.0.0/16", "nexthop": "10.0.0.9"}}}}
	gateways := m{"router": m{"external_gateways": []any{m{"network_id": some}}}}
	return map[string][]any{
		"add_addresses":           {m{"address_group": m{"addresses": []any{"10.99.0.0/16"}}}, m{"addresses": []any{"10.99.0.0/16"}}},
		"remove_addresses":        {m{"address_group": m{"addresses": []any{"10.99.0.0/16"}}}},
		"add_prefixes":            {m{"prefixes": []any{"10.99.0.0/16"}}, m{"subnetpool": m{"prefixes": []any{"10.99.0.0/16"}}}},
		"remove_prefixes":         {m{"prefixes": []any{"10.99.0.0/16"}}},
		"onboard_network_subnets": {m{"network_id": some}, m{"subnetpool": m{"network_id": some}}},
		"add_router_interface":    {m{"subnet_id": some}, m{"port_id": some}}, "remove_router_interface": {m{"subnet_id": some}, m{"port_id": some}},
		"add_extraroutes": {routes}, "remove_extraroutes": {routes},
		"add_external_gateways": {gateways}, "remove_external_gateways": {gateways}, "update_external_gateways": {gateways},
		"add_subports":    {m{"sub_ports": []any{m{"port_id": some, "segmentation_type": "vlan", "segmentation_id": 9}}}},
		"remove_subports": {m{"sub_ports": []any{m{"port_id": some}}}},
	}
}

// write tries all writes of an object, and creates below it.
func (s *spy) write(r *realm, o *object, own *realm) {
	s.t.Helper()
	try := func(p probe, ids ...string) {
		s.t.Helper()
		a := s.ask(p)
		if !recipes()[o.res.ID()].common {
			a = s.blind(p, ids...)
		}
		if a.Status < 400 {
			s.t.Errorf("%s: %s: %d %.200s", s.who, p, a.Status, a.Body)
		}
	}
	for _, p := range writes(r, o) {
		try(p, o.id)
		if o.parent != nil && !recipes()[o.parent.res.ID()].common {
			try(p, o.parent.id)
		}
	}
	for _, sub := range r.reg.Children(o.res.Collection) {
		if o.path == "" || recipes()[sub.ID()].why != "" {
			continue
		}
		at := o.path + "/" + sub.Path
		attributes := map[string]any{}
		if recipes()[sub.ID()].find == nil {
			attributes = own.attributes(sub.ID())
			delete(attributes, "project_id")
		}
		for _, p := range []probe{{method: "POST", path: at, body: map[string]any{sub.Name: attributes}}, {method: "POST", path: at, body: map[string]any{sub.Name: map[string]any{}}},
			{method: "PUT", path: at}, {method: "DELETE", path: at}} {
			try(p, o.id)
		}
	}
	if o.parent != nil && own.first[o.parent.res.ID()] != nil && o.path != "" { // below a parent of one's own
		at := own.first[o.parent.res.ID()].path + "/" + o.res.Path
		s.blind(probe{method: "GET", path: at + "?limit=1&marker=" + o.id}, o.id)
		for _, method := range []string{"GET", "PUT", "DELETE"} {
			p := probe{method: method, path: at + "/" + o.id}
			if method == "PUT" {
				p.body = map[string]any{o.res.Name: r.change(o)}
			}
			try(p, o.id)
		}
	}
}

// refused: whoever sees an object but may not change it gets a 403 for each update and its deletion, and a refusal for all else.
func (s *spy) refused(r *realm, o *object) (sees bool) {
	s.t.Helper()
	sees = o.path != "" && s.ask(probe{method: "GET", path: o.path}).Status == http.StatusOK
	for _, p := range writes(r, o) {
		a := s.ask(p)
		update := p.method == "PUT" && p.header == nil && p.path == o.path && !o.res.NoUpdate && strings.Contains(jsonOf(p.body), "changed-")
		remove := p.method == "DELETE" && p.header == nil && p.path == o.path && !o.res.NoDelete
		if a.Status < 400 || sees && (update || remove) && a.Status != http.StatusForbidden {
			s.t.Errorf("%s: %s: %d %.200s", s.who, p, a.Status, a.Body)
		}
	}
	return sees
}

// powerless: a reader of the project sees what a member sees and gets a refusal for every write.
func (s *spy) powerless(r *realm, o *object) {
	s.t.Helper()
	sees := s.refused(r, o)
	if rec := recipes()[o.res.ID()]; rec.find == nil && o.at != "" && o == r.first[o.res.ID()] {
		attributes := r.attributes(o.res.ID())
		delete(attributes, "project_id")
		p := probe{method: "POST", path: o.at, body: map[string]any{o.res.Name: attributes}}
		if a := s.ask(p); a.Status != http.StatusForbidden && (a.Status != http.StatusNotFound || sees) {
			s.t.Errorf("%s: %s: %d %.200s", s.who, p, a.Status, a.Body)
		}
	}
}

// TestShared: what is shared with a project is seen and used by it, and changed by nobody but its owner; what hangs on it and is
// not shared stays hidden, also where it stands in the way.
func TestShared(t *testing.T) {
	type m = map[string]any
	mine := newRealms(t, "M")[0]
	shared := map[string]string{"network": "networks", "security_group": "security_groups", "address_scope": "address_scopes", "subnetpool": "subnetpools",
		"address_group": "address_groups", "qos_policy": "policies"}
	before := map[*object]string{}
	for kind, collection := range shared {
		o := mine.get(collection)
		mine.must("POST", "/rbac-policies", m{"rbac_policy": m{"object_type": kind, "object_id": o.id, "action": "access_as_shared", "target_tenant": rig.ProjectO}}, 201)
	}
	network := mine.get("networks")
	subnet := mine.post("subnets", nil, m{"network_id": network.id, "ip_version": 4, "cidr": "172.30.0.0/24"}, "")
	port := mine.post("ports", nil, m{"network_id": network.id, "name": mine.secret() + "-port", "mac_address": "fa:16:3e:00:00:55", "fixed_ips": []any{m{"ip_address": "172.30.0.55"}}}, "")
	mine.must("PUT", mine.get("subnetpools").path, m{"subnetpool": m{"address_scope_id": mine.id("address_scopes")}}, 200)
	for _, collection := range shared {
		before[mine.get(collection)] = mine.body(mine.get(collection))
	}
	before[subnet], before[port] = mine.body(subnet), mine.body(port)
	s := &spy{t: t, who: "member of a project that it is shared with", c: mine.c.Who("O"), counts: map[int]int{}}
	for o := range before {
		if sees := s.refused(mine, o); sees == (o == port) {
			t.Errorf("%s is seen: %v", o.path, sees)
		}
	}
	s.secrets = []string{port.id, mine.secret() + "-port"}
	for _, c := range []struct {
		path   string
		body   m
		status int
	}{
		{"/ports", m{"port": m{"network_id": network.id}}, 201},
		{"/ports", m{"port": m{"network_id": network.id, "fixed_ips": []any{m{"subnet_id": subnet.id}}, "security_groups": []any{mine.id("security_groups")}}}, 201},
		{"/ports", m{"port": m{"network_id": network.id, "fixed_ips": []any{m{"ip_address": "172.30.0.55"}}}}, 403},
		{"/ports", m{"port": m{"network_id": network.id, "mac_address": "fa:16:3e:00:00:55"}}, 403},
		{"/subnets", m{"subnet": m{"network_id": network.id, "ip_version": 4, "cidr": "172.30.0.0/25"}}, 403},
		{"/security-group-rules", m{"security_group_rule": m{"security_group_id": mine.id("security_groups"), "direction": "ingress"}}, 403},
		{"/subnetpools", m{"subnetpool": m{"name": "n", "prefixes": []any{"10.99.0.0/24"}, "address_scope_id": mine.id("address_scopes")}}, 201},
	} {
		if a := s.ask(probe{method: "POST", path: c.path, body: c.body}); a.Status != c.status {
			t.Errorf("%s: POST %s %s: %d %s", s.who, c.path, jsonOf(c.body), a.Status, a.Body)
		}
	}
	for _, path := range []string{"/ports", "/ports?network_id=" + network.id, "/ports?fixed_ips=ip_address=172.30.0.55", "/ports?mac_address=fa:16:3e:00:00:55", network.path, subnet.path} {
		s.ask(probe{method: "GET", path: path})
	}
	for o, was := range before {
		if is := mine.body(o); standing(is) != standing(was) {
			t.Errorf("%s was\n%s and is\n%s", o.path, was, is)
		}
	}
	t.Log(s.counts)
}

// lure tries creates and updates of the spy's own objects that refer to another project's.
func (s *spy) lure(mine, own *realm) {
	s.t.Helper()
	for _, collection := range own.owned() {
		res, r := own.resource(collection), recipes()[collection]
		for _, a := range res.Attributes {
			for _, o := range mine.aims(&a) {
				if v, ok := reference(&a, o.id); ok && a.Post != apidef.Never && r.find == nil && !res.NoCreate {
					s.entice(own, collection, map[string]any{a.Name: v}, o)
				}
				if v, ok := reference(&a, o.id); ok && a.Put != apidef.Never && own.first[collection].path != "" {
					s.blind(probe{method: "PUT", path: own.first[collection].path, body: map[string]any{res.Name: map[string]any{a.Name: v}}}, o.id)
				}
			}
		}
	}
	for _, l := range lures() {
		if _, served := own.reg.Resource(l.collection); !served || mine.first[l.to] == nil {
			continue
		}
		o := mine.first[l.to]
		body := l.body(o.id)
		if l.action == "" {
			s.entice(own, l.collection, body, o)
			s.blind(probe{method: "PUT", path: own.get(l.collection).path, body: map[string]any{own.resource(l.collection).Name: body}}, o.id)
			continue
		}
		s.blind(probe{method: "PUT", path: own.get(l.collection).path + "/" + l.action, body: body}, o.id)
	}
}

// entice creates an object with more attributes, which refer to o.
func (s *spy) entice(own *realm, collection string, more map[string]any, o *object) {
	s.t.Helper()
	attributes := own.attributes(collection)
	delete(attributes, "project_id")
	maps.Copy(attributes, more)
	res := own.resource(collection)
	var parent *object
	if res.Parent != "" {
		parent = own.first[collection].parent
	}
	p := probe{method: "POST", path: own.where(res, parent), body: map[string]any{res.Name: attributes}}
	a := s.blind(p, o.id)
	if id := idOf(a.Under(res.Name)); a.Status == http.StatusCreated && res.Parent == "" && slices.Contains([]string{"networks", "ports"}, collection) {
		s.ask(probe{method: "DELETE", path: own.where(res, nil) + "/" + id})
	}
}

// aims are a realm's objects that an attribute may refer to: those of the collection that its name tells, else one of each.
func (r *realm) aims(a *apidef.Attribute) []*object {
	if _, ok := reference(a, ghost(strings.Repeat("x", 36))); !ok || slices.Contains([]string{"id", "project_id", "tenant_id", "target_tenant"}, a.Name) {
		return nil
	}
	if of := r.refers(strings.TrimSuffix(a.Name, "s")); of != "" && r.first[of] != nil {
		if recipes()[of].common {
			return nil
		}
		return []*object{r.first[of]}
	}
	var out []*object
	for _, collection := range r.owned() {
		if o := r.first[collection]; len(o.id) == 36 && o.parent == nil && !recipes()[collection].common {
			out = append(out, o)
		}
	}
	return out
}

// reference makes the value of an attribute that refers to an id; ok is false for attributes that refer to nothing.
func reference(a *apidef.Attribute, id string) (v any, ok bool) {
	takes := func(v any) bool { _, err := a.Type.Decode([]byte(jsonOf(v))); return err == nil }
	switch named := strings.HasSuffix(a.Name, "_id"); {
	case takes(id) && (named || !takes("no-identifier")):
		return id, true
	case takes([]any{id}) && !takes([]any{"no-identifier"}):
		return []any{id}, true
	}
	return nil, false
}

// lure is a body that refers to an object of another collection below its top.
type lure struct {
	collection, action, to string
	body                   func(id string) map[string]any
}

func lures() []lure {
	type m = map[string]any
	return []lure{
		{"ports", "", "subnets", func(id string) m { return m{"fixed_ips": []any{m{"subnet_id": id}}} }},
		{"ports", "", "security_groups", func(id string) m { return m{"security_groups": []any{id}} }},
		{"routers", "", "networks", func(id string) m { return m{"external_gateway_info": m{"network_id": id}} }},
		{"routers", "", "subnets", func(id string) m {
			return m{"external_gateway_info": m{"network_id": id, "external_fixed_ips": []any{m{"subnet_id": id}}}}
		}},
		{"routers", "add_router_interface", "subnets", func(id string) m { return m{"subnet_id": id} }},
		{"routers", "add_router_interface", "ports", func(id string) m { return m{"port_id": id} }},
		{"routers", "remove_router_interface", "subnets", func(id string) m { return m{"subnet_id": id} }},
		{"routers", "remove_router_interface", "ports", func(id string) m { return m{"port_id": id} }},
		{"routers", "add_external_gateways", "networks", func(id string) m { return m{"router": m{"external_gateways": []any{m{"network_id": id}}}} }},
		{"subnetpools", "onboard_network_subnets", "networks", func(id string) m { return m{"network_id": id} }},
		{"trunks", "add_subports", "ports", func(id string) m {
			return m{"sub_ports": []any{m{"port_id": id, "segmentation_type": "vlan", "segmentation_id": 9}}}
		}},
		{"trunks", "remove_subports", "ports", func(id string) m { return m{"sub_ports": []any{m{"port_id": id}}} }},
		{"trunks", "", "ports", func(id string) m {
			return m{"sub_ports": []any{m{"port_id": id, "segmentation_type": "vlan", "segmentation_id": 9}}}
		}},
	}
}
