package scenario

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"golang.org/x/sync/errgroup"

	"isospin/internal/lab"
)

// Cloud is a lab with a server and agents, and a client of its API with admin rights.
type Cloud struct {
	*lab.Lab
	Setup
	Pace
	api *gophercloud.ServiceClient
}

// Object is one of the API's.
type Object map[string]any

// ID is its id.
func (o Object) ID() string { return o.Text("id") }

// Text is an attribute that is a text; "" when it is none.
func (o Object) Text(name string) string {
	s, _ := o[name].(string)
	return s
}

// With is a copy with more attributes.
func (o Object) With(more Object) Object {
	out := maps.Clone(o)
	maps.Copy(out, more)
	return out
}

// bring makes a lab; what is left of it after its end is an error.
func bring(t *testing.T, binary string, pace Pace, setup Setup) *Cloud {
	t.Helper()
	began := time.Now()
	l, err := lab.Up(t.Context(), lab.Options{Dir: t.TempDir(), Hosts: setup.hosts(), Datapath: setup.Datapath, Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("lab up after %.1f s", time.Since(began).Seconds())
	c := &Cloud{Lab: l, Setup: setup, Pace: pace}
	t.Cleanup(func() { c.takeDown(t) })
	client, err := l.Cloud(t.Context())
	must(t, err)
	c.api = client.API()
	return c
}

func (c *Cloud) takeDown(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), c.within(time.Minute))
	defer cancel()
	if t.Failed() {
		var logs bytes.Buffer
		_ = c.Logs(ctx, &logs, "", 40, false) // What can be read of them helps.
		for line := range strings.Lines(logs.String()) {
			if !strings.Contains(line, "|INFO|") && !strings.Contains(line, "level=INFO") {
				t.Log(strings.TrimSpace(line))
			}
		}
	}
	if err := c.Down(ctx); err != nil {
		t.Error(err)
	}
}

// Call sends one request; an answer that is no success ends the test.
func (c *Cloud) Call(t *testing.T, method, path string, body any) Object {
	t.Helper()
	var out Object
	o := &gophercloud.RequestOpts{OkCodes: []int{200, 201, 204}}
	if method != http.MethodDelete {
		o.JSONResponse = &out
	}
	if body != nil {
		o.JSONBody = body
	}
	// What is cleaned up comes after the test's own context.
	if _, err := c.api.Request(context.WithoutCancel(t.Context()), method, c.api.ServiceURL(path), o); err != nil {
		t.Fatalf("%s %s: %v", method, path, err)
	}
	return out
}

// Create makes a resource, "network", which goes with the test. Attributes as the API has them.
func (c *Cloud) Create(t *testing.T, resource string, attributes Object) Object {
	t.Helper()
	o := inner(t, c.Call(t, http.MethodPost, plural(resource), Object{resource: attributes}), resource)
	t.Cleanup(func() { c.Call(t, http.MethodDelete, plural(resource)+"/"+o.ID(), nil) })
	return o
}

// Update changes a resource.
func (c *Cloud) Update(t *testing.T, resource, id string, attributes Object) Object {
	t.Helper()
	return inner(t, c.Call(t, http.MethodPut, plural(resource)+"/"+id, Object{resource: attributes}), resource)
}

// Show reads a resource.
func (c *Cloud) Show(t *testing.T, resource, id string) Object {
	t.Helper()
	return inner(t, c.Call(t, http.MethodGet, plural(resource)+"/"+id, nil), resource)
}

// List finds resources by a query, "network_id=..."
func (c *Cloud) List(t *testing.T, resource, query string) []Object {
	t.Helper()
	var out []Object
	for _, v := range c.Call(t, http.MethodGet, plural(resource)+"?"+query, nil)[strings.ReplaceAll(plural(resource), "-", "_")].([]any) {
		out = append(out, v.(map[string]any))
	}
	return out
}

// plural is a resource's collection as paths have it.
func plural(resource string) string {
	name := strings.ReplaceAll(resource, "_", "-")
	if rest, ok := strings.CutSuffix(name, "policy"); ok {
		return rest + "policies"
	}
	return name + "s"
}

func inner(t *testing.T, o Object, name string) Object {
	t.Helper()
	m, ok := o[name].(map[string]any)
	if !ok {
		t.Fatalf("an answer without %s: %v", name, o)
	}
	return m
}

// Birth is a guest to boot, on a network or with a port.
type Birth struct {
	Name, Host, Network, Port string
	// Static sets addresses without a DHCP client.
	Static bool
}

// Boot boots guests, all at the same time; they go with the test.
func (c *Cloud) Boot(t *testing.T, births ...Birth) map[string]*lab.Guest {
	t.Helper()
	out := map[string]*lab.Guest{}
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(t.Context())
	g.SetLimit(4)
	for _, b := range births {
		g.Go(func() error {
			guest, err := c.Lab.Boot(ctx, lab.BootOptions{Name: b.Name, Host: b.Host, Network: b.Network, Port: b.Port, NoDHCP: b.Static, Timeout: c.within(20 * time.Second)})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				out[b.Name] = guest
			}
			return err
		})
	}
	err := g.Wait()
	for name := range out {
		t.Cleanup(func() {
			if err := c.Delete(context.WithoutCancel(t.Context()), name); err != nil {
				t.Error(err)
			}
		})
	}
	must(t, err)
	for _, b := range births {
		if !b.Static {
			c.sixes(t, out[b.Name])
		}
	}
	return out
}

// sixes sets a guest's IPv6 addresses, which no DHCP gives it.
func (c *Cloud) sixes(t *testing.T, g *lab.Guest) {
	t.Helper()
	for _, ip := range g.IPs {
		if netip.MustParseAddr(ip).Is6() {
			c.On(t, g.Name, "ip", "address", "replace", ip+"/64", "dev", "eth0", "nodad")
		}
	}
}

// On runs a command in a place of the lab; a status other than 0 ends the test.
func (c *Cloud) On(t *testing.T, place string, args ...string) string {
	t.Helper()
	out, err := c.Exec(context.WithoutCancel(t.Context()), place, args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return out
}

// settled is the inventory once it stays the same: switches still make what an agent has asked for when that is ready.
func (c *Cloud) settled(t *testing.T) map[string]string {
	t.Helper()
	last := c.inventory(t)
	c.until(t, 10*time.Second, "hosts settle", func() (bool, string) {
		before := last
		last = c.inventory(t)
		return maps.Equal(before, last) && c.wired(last), fmt.Sprint(last)
	})
	return last
}

// wired tells whether the agents of Open vSwitch hosts have made what they make at first.
func (c *Cloud) wired(inventory map[string]string) bool {
	for _, h := range c.hosts() {
		if h.Mechanism == lab.OpenVSwitch && !strings.Contains(inventory[h.Name], "port vxlan-isospin") {
			return false
		}
	}
	return true
}

// inventory is what each host has: devices, namespaces, ports and flows of the integration bridge.
func (c *Cloud) inventory(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, h := range c.hosts() {
		var all []string
		for line := range strings.Lines(c.On(t, h.Name, "ip", "-o", "link")) {
			if _, rest, ok := strings.Cut(line, ": "); ok {
				name, _, _ := strings.Cut(rest, ":")
				all = append(all, "device "+name)
			}
		}
		all = append(all, lines(c.On(t, h.Name, "ip", "netns", "list"), "namespace ")...)
		if h.Mechanism == lab.OpenVSwitch {
			all = append(all, lines(c.On(t, h.Name, "ovs-vsctl", "list-ports", "br-int"), "port ")...)
			all = append(all, lines(c.On(t, h.Name, "ovs-ofctl", "-O", "OpenFlow15", "--no-stats", "dump-flows", "br-int"), "flow ")...)
		}
		slices.Sort(all)
		out[h.Name] = strings.Join(all, "\n")
	}
	return out
}

func lines(text, mark string) []string {
	var out []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, mark+line)
		}
	}
	return out
}

// asBefore waits until hosts have what they had.
func (c *Cloud) asBefore(t *testing.T, before map[string]string) {
	t.Helper()
	c.until(t, 10*time.Second, "hosts as before", func() (bool, string) {
		now := c.inventory(t)
		return maps.Equal(now, before), cmp.Diff(before, now)
	})
}

// must ends the test on an error.
func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// until asks again and again until done says so, at most as long as the pace makes of within; what it last said otherwise is
// in the failure.
func (c *Cloud) until(t *testing.T, within time.Duration, what string, done func() (ok bool, said string)) time.Duration {
	t.Helper()
	limit, began := c.within(within), time.Now()
	for {
		ok, said := done()
		if ok {
			return time.Since(began)
		}
		if time.Since(began) > limit {
			t.Fatalf("not within %s: %s: %s", limit, what, said)
		}
		<-time.After(c.within(10 * time.Millisecond)) // Asking is work that a slow machine could do for the answer.
	}
}
