//go:build conformance

package conformance

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"isospin/test/rig"
)

// kills is how often the server is killed; loaded how long it works before, at the most.
const (
	kills  = 200
	loaded = 100 * time.Millisecond
)

// promise is what answers have said so far: what exists, with its name, and what is gone.
type promise struct {
	mu      sync.Mutex
	exist   map[string]string // path → name as answered
	pending map[string]bool   // a request about it got no answer: either is right
	gone    map[string]bool
}

func (p *promise) do(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// TestKill: kill -9 at random moments under load. No answered request is lost, nothing is half written, the server is back
// in half a second.
func TestKill(t *testing.T) {
	options := databases.Fresh(t, "sqlite")
	unlimited(options)
	p := rig.StartProcess(t, options)
	p0 := &promise{exist: map[string]string{}, pending: map[string]bool{}, gone: map[string]bool{}}
	rnd := rand.New(rand.NewPCG(7, 7))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16}, Timeout: 10 * time.Second}
	c := rig.Caller{TB: t, URL: p.URL, Client: client}.Who("A")
	net := c.Make("/networks", "network", map[string]any{})["id"]
	c.Make("/subnets", "subnet", map[string]any{"network_id": net, "ip_version": 4, "cidr": "10.0.0.0/16"})
	var slowest, busiest time.Duration
	answered := 0
	for round := range kills {
		stop := make(chan struct{})
		var wg sync.WaitGroup
		for i := range 4 {
			seed := rand.NewPCG(uint64(round), uint64(i))
			wg.Go(func() { work(c, net, p0, rand.New(seed), stop) })
		}
		<-time.After(time.Duration(rnd.Int64N(int64(loaded))))
		p.Kill(t)
		close(stop)
		wg.Wait()
		client.CloseIdleConnections()
		p.Start(t)
		c.URL = p.URL
		slowest, busiest = max(slowest, p.Took), max(busiest, p.Busy)
		answered = p0.hold(t, c, round)
		if t.Failed() {
			t.FailNow()
		}
	}
	p.Stop(t)
	rig.Exact(t, rig.Look(t, options))
	if slowest > 500*time.Millisecond {
		t.Errorf("the slowest start took %s, %s of it at work", slowest, busiest)
	}
	t.Logf("%d kills, %d objects promised at the end, slowest start %s, at most %s at work", kills, answered, slowest, busiest)
}

// work creates, renames and deletes networks, ports and groups until it is told to stop or the server is gone.
func work(c rig.Caller, net any, p *promise, rnd *rand.Rand, stop <-chan struct{}) {
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		name := fmt.Sprintf("n%x", rnd.Uint64())
		kind := []string{"network", "port", "security_group"}[rnd.IntN(3)]
		path := map[string]string{"network": "/networks", "port": "/ports", "security_group": "/security-groups"}[kind]
		body := map[string]any{"name": name}
		if kind == "port" {
			body["network_id"] = net
		}
		a := c.Do("POST", path, map[string]any{kind: body})
		if a.Err != nil {
			return
		}
		if a.Status != 201 {
			c.TB.Errorf("POST %s: %d %s", path, a.Status, a.Body)
			return
		}
		id := path + "/" + a.Under(kind)["id"].(string) //nolint:errcheck // a test may panic
		p.do(func() { p.exist[id] = name })
		what := rnd.IntN(3)
		if what == 0 {
			continue
		}
		p.do(func() { p.pending[id] = true })
		var b rig.Answer
		if what == 1 {
			b = c.Do("PUT", id, map[string]any{kind: map[string]any{"name": name + "x"}})
		} else {
			b = c.Do("DELETE", id, nil)
		}
		if b.Err != nil {
			return
		}
		p.do(func() {
			delete(p.pending, id)
			switch b.Status {
			case 200:
				p.exist[id] = name + "x"
			case 204:
				delete(p.exist, id)
				p.gone[id] = true
			default:
				c.TB.Errorf("%s: %d %s", id, b.Status, b.Body)
			}
		})
	}
}

// hold compares the promises with three lists.
func (p *promise) hold(t *testing.T, c rig.Caller, round int) int {
	t.Helper()
	have := map[string]string{}
	for path, name := range map[string]string{"/networks": "networks", "/ports": "ports", "/security-groups": "security_groups"} {
		for _, o := range c.List(path+"?fields=id&fields=name", name) {
			have[path+"/"+o["id"].(string)] = o["name"].(string) //nolint:errcheck // a test may panic
		}
	}
	for id, name := range p.exist {
		got, there := have[id]
		switch {
		case p.pending[id] && !there:
			delete(p.exist, id)
		case p.pending[id] && (got == name || got == name+"x"):
			p.exist[id] = got
		case !there || got != name:
			t.Errorf("round %d: %s is %q (there: %v), and %q was answered", round, id, got, there, name)
		}
	}
	for id := range p.gone {
		if _, there := have[id]; there {
			t.Errorf("round %d: %s is back", round, id)
		}
	}
	p.pending = map[string]bool{}
	return len(p.exist)
}
