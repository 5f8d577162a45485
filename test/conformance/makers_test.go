package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"isospin/internal/apidef"
	"isospin/internal/apidef/catalogue"
	"isospin/internal/model"
	"isospin/internal/service/agents"
	"isospin/internal/store"
	"isospin/isospintest"
	"isospin/test/rig"
)

// object is something of a collection that a test made or found.
type object struct {
	res *apidef.Resource
	// at and path are the URLs of its collection and of itself; path is "" where it cannot be asked for alone.
	at, path string
	id       string
	// parent is the object in the URL above it.
	parent *object
}

// recipe is how an object of a collection is made where the registry alone does not tell.
type recipe struct {
	// as is who makes it (rig.Caller.Who), in the name of the realm's project; "": the realm's own member.
	as string
	// body are the attributes beside name and description; n is another number at every call.
	body func(w *realm, n int) map[string]any
	// parent makes the object above; nil: the realm's first object of the parent's collection.
	parent func(w *realm) *object
	// lone objects cannot have many siblings: each gets a parent of its own.
	lone bool
	// find stands for collections that no POST makes.
	find func(w *realm, n int) *object
	// change is what an update gives; nil: another name or description.
	change func(n int) map[string]any
	// common objects are for everybody to see, though not to change.
	common bool
	// named objects are hidden from others, but what others see names them by their ids.
	named bool
	// why says what keeps a collection without objects of a project; such are left out.
	why string
}

// realm makes objects of every collection for one project. Numbers and the database are shared by all realms of a server.
type realm struct {
	t     *testing.T
	c     rig.Caller // an administrator
	owner string     // the letter of the member whose realm it is
	reg   *apidef.Registry
	st    store.Store
	n     *int
	first map[string]*object
	kept  map[string]*object
	all   []*object
}

// newRealms starts a server without quotas and gives each of the letters a realm on it.
func newRealms(t *testing.T, letters ...string) []*realm {
	t.Helper()
	options := map[string]string{"database/connection": "sqlite:///" + t.TempDir() + "/isospin.db", "quotas/default_quota": "-1",
		"ml2_type_vlan/network_vlan_ranges": "physnet1:1:2000,physnet2", "ml2_type_flat/flat_networks": "*",
		"DEFAULT/vlan_transparent": "true", "DEFAULT/vlan_qinq": "true"}
	for _, kind := range []string{"network", "subnet", "port", "security_group", "security_group_rule", "rbac_policy", "router", "floatingip"} {
		options["quotas/quota_"+kind] = "-1"
	}
	s := isospintest.Start(t, isospintest.Options{Config: options})
	reg, err := catalogue.Build(catalogue.Served())
	if err != nil {
		t.Fatal(err)
	}
	st, n := rig.Look(t, options), 0
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	t.Cleanup(client.CloseIdleConnections)
	var out []*realm
	for _, l := range letters {
		out = append(out, &realm{t: t, c: rig.Caller{TB: t, URL: s.URL, Client: client}.Who("A"), owner: l, reg: reg, st: st, n: &n,
			first: map[string]*object{}, kept: map[string]*object{}})
	}
	return out
}

func (w *realm) next() int { *w.n++; return *w.n }

// word is what names of a recipe's objects begin with.
func (w *realm) word(r recipe) string {
	if r.common {
		return "common"
	}
	return w.secret()
}

// secret is the word that is in all names of a realm.
func (w *realm) secret() string { return "secret-" + w.owner }

// member is the realm's own member.
func (w *realm) member() rig.Caller { return w.c.Who(w.owner) }

// project is the realm's project.
func (w *realm) project() string { return w.member().Project }

// id is the id of the realm's first object of a collection.
func (w *realm) id(collection string) string { return w.get(collection).id }

// get is the realm's first object of a collection; it is made if there is none.
func (w *realm) get(collection string) *object {
	w.t.Helper()
	if w.first[collection] == nil {
		w.first[collection] = w.make(collection)
	}
	return w.first[collection]
}

// keep makes an object once, under a name of its own, beside the first of its collection.
func (w *realm) keep(name string, make func() *object) *object {
	if w.kept[name] == nil {
		w.kept[name] = make()
	}
	return w.kept[name]
}

// make makes another object of a collection, as its recipe says.
func (w *realm) make(collection string) *object {
	w.t.Helper()
	r := recipes()[collection]
	if r.find != nil {
		o := r.find(w, w.next())
		w.all = append(w.all, o)
		return o
	}
	return w.post(collection, w.above(collection), w.attributes(collection), r.as)
}

// above is the object over a new one of the collection; nil for collections of their own.
func (w *realm) above(collection string) *object {
	w.t.Helper()
	res, r := w.resource(collection), recipes()[collection]
	switch {
	case res.Parent == "":
		return nil
	case r.parent != nil:
		return r.parent(w)
	case r.lone:
		return w.make(res.Parent)
	}
	return w.get(res.Parent)
}

func (w *realm) resource(collection string) *apidef.Resource {
	w.t.Helper()
	res, ok := w.reg.Resource(collection)
	if !ok {
		w.t.Fatalf("a test asks for %s, which is not served", collection)
	}
	return res
}

// attributes are a create's of the collection: those of the recipe, a name, and references to the realm's own objects for whatever
// else is required and ends in _id.
func (w *realm) attributes(collection string) map[string]any {
	w.t.Helper()
	res, r, n := w.resource(collection), recipes()[collection], w.next()
	out := map[string]any{}
	for _, name := range []string{"name", "description"} {
		if a, ok := res.Attribute(name); ok && a.Post != apidef.Never {
			out[name] = fmt.Sprintf("%s-%s-%d", w.word(r), res.Name, n)
		}
	}
	if r.body != nil {
		maps.Copy(out, r.body(w, n))
	}
	if _, ok := res.Attribute("project_id"); ok && r.as != "" {
		out["project_id"] = w.project()
	}
	for _, a := range res.Attributes {
		if _, given := out[a.Name]; given || a.Post != apidef.Required || a.Name == "project_id" || a.Name == "tenant_id" {
			continue
		}
		of := w.refers(a.Name)
		if of == "" {
			w.t.Fatalf("%s needs a recipe: %s is required", collection, a.Name)
		}
		out[a.Name] = w.id(of)
	}
	return out
}

// refers is the collection that an attribute's name refers to: "router_id" to routers; "" when the name tells of none.
func (w *realm) refers(attribute string) string {
	noun, ok := strings.CutSuffix(attribute, "_id")
	if !ok {
		return ""
	}
	for _, res := range w.reg.Resources() {
		if res.Parent == "" && (res.Name == noun || strings.HasSuffix(noun, "_"+res.Name)) {
			return res.ID()
		}
	}
	return ""
}

// where is the URL of a collection, below parent where it has one.
func (w *realm) where(res *apidef.Resource, parent *object) string {
	if parent != nil {
		return parent.path + "/" + res.Path
	}
	return res.Prefix + "/" + res.Path
}

// post creates an object and ends the test where that fails.
func (w *realm) post(collection string, parent *object, attributes map[string]any, as string) *object {
	w.t.Helper()
	res := w.resource(collection)
	if as == "" {
		as = w.owner
	}
	o := &object{res: res, at: w.where(res, parent), parent: parent}
	got := w.c.Who(as).Make(o.at, res.Name, attributes)
	o.id = idOf(got)
	if o.id == "" {
		w.t.Fatalf("POST %s: no id in %v", o.at, got)
	}
	o.path = o.at + "/" + o.id
	w.all = append(w.all, o)
	return o
}

// idOf is what URLs name an object by.
func idOf(body map[string]any) string {
	for _, name := range []string{"id", "fixed_port_id", "host"} {
		if id, ok := body[name].(string); ok && id != "" {
			return id
		}
	}
	return ""
}

// body is the object as an administrator sees it; "" where nobody can ask for it.
func (w *realm) body(o *object) string {
	w.t.Helper()
	if o.path == "" {
		return ""
	}
	a := w.c.Do("GET", o.path, nil)
	if a.Status != http.StatusOK {
		w.t.Fatalf("GET %s as an administrator: %d %s %v", o.path, a.Status, a.Body, a.Err)
	}
	return string(a.Body)
}

// change is an update of the object, as its recipe says; nil where it has none.
func (w *realm) change(o *object) map[string]any {
	r := recipes()[o.res.ID()]
	n := w.next()
	if r.change != nil {
		return r.change(n)
	}
	for _, name := range []string{"name", "description"} {
		if a, ok := o.res.Attribute(name); ok && a.Put != apidef.Never {
			return map[string]any{name: fmt.Sprint("changed-", n)}
		}
	}
	return nil
}

// owned are the collections that hold objects of projects, in the registry's order.
func (w *realm) owned() []string {
	var out []string
	for _, res := range w.reg.Resources() {
		if recipes()[res.ID()].why == "" {
			out = append(out, res.ID())
		}
	}
	return out
}

// everything makes one object of every collection.
func (w *realm) everything() {
	w.t.Helper()
	for _, collection := range w.owned() {
		w.get(collection)
	}
}

// host adds a host with agents of every kind, alive for as long as agent_down_time.
func (w *realm) host(name string) map[string]string {
	w.t.Helper()
	ids, rows := map[string]string{}, agents.NewAgents()
	err := w.st.Write(w.t.Context(), func(tx store.WriteTx) error {
		for _, kind := range []string{model.AgentOVS, model.AgentDHCP, model.AgentL3} {
			ids[kind] = fmt.Sprintf("00000000-0000-4000-a000-%012d", w.next())
			zone := "nova"
			a := model.Agent{ID: ids[kind], AgentType: kind, Binary: "isospin-agent", Host: name, AdminStateUp: true, SeenAt: now().UnixMilli(),
				AvailabilityZone: &zone, CreatedAt: model.AgentStamp(now()), StartedAt: model.AgentStamp(now()), Configurations: map[string]any{
					"tunneling_ip": "192.0.2.1", "tunnel_types": []any{"vxlan", "gre", "geneve"}, "agent_mode": "legacy",
					"bridge_mappings": map[string]any{"physnet1": "br-physnet1"}}}
			if kind == model.AgentOVS {
				a.AvailabilityZone = nil
			}
			if err := rows.Insert(w.t.Context(), tx, &a); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return ids
}

// TestRecipes: recipes are for collections that there are.
func TestRecipes(t *testing.T) {
	var known []string
	for _, e := range catalogue.InTree() {
		for _, res := range e.Resources {
			known = append(known, res.ID())
		}
	}
	for collection := range recipes() {
		if !slices.Contains(known, collection) {
			t.Errorf("there is a recipe for %s, which is no collection", collection)
		}
	}
}

// TestOneOfEach: of every collection an object can be made; it is found in its list, and alone as in the list.
func TestOneOfEach(t *testing.T) {
	r := newRealms(t, "M")[0]
	for _, collection := range r.owned() {
		o := r.get(collection)
		if o.at == "" || collection == "quotas" {
			continue
		}
		var found map[string]any
		for _, item := range r.c.List(o.at, o.res.Collection) {
			if slices.Contains([]any{item["id"], item["fixed_port_id"], item["host"], item["network_id"]}, any(o.id)) {
				found = item
			}
		}
		if found == nil {
			t.Errorf("%s is not in %s", o.id, o.at)
		} else if o.path != "" && jsonOf(r.c.Get(o.path, o.res.Name)) != jsonOf(found) {
			t.Errorf("%s differs alone and in its list:\n%s\n%s", o.path, r.body(o), jsonOf(found))
		}
	}
}

// jsonOf is a value as JSON.
func jsonOf(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
