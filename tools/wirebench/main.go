// Command wirebench measures how long a guest waits for its network: from the binding of its port (PUT binding:host_id) and the plug of its
// device into br-int, one after the other as a compute service does it, to the first ping that is answered, with a static address and a cold
// ARP cache. It speaks plain HTTP to any Networking v2.0 API and trusts nothing about the agent, so that two clouds can be measured in turn on
// one machine (tools/wirebench.sh). It needs root, runs in the network namespace of the host's Open vSwitch, and removes what it made.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"
)

func main() {
	b := &bench{client: &http.Client{Timeout: time.Minute}}
	flag.StringVar(&b.url, "url", "http://127.0.0.1:9696", "root of the API, without /v2.0")
	flag.StringVar(&b.host, "host", "h1", "name of the host whose br-int is here")
	flag.StringVar(&b.db, "db", "unix:/run/openvswitch/db.sock", "where the host's Open vSwitch database listens")
	flag.DurationVar(&b.limit, "limit", time.Minute, "how long a guest is waited for")
	flag.BoolVar(&b.security, "security", false, "with port security: the guests are in their project's default group")
	rounds := flag.Int("n", 10, "guests to wire, one after the other")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := b.run(ctx, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "wirebench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	url, host, db string
	limit         time.Duration
	client        *http.Client
	security      bool
	network       string
	subnet        string
	undo          []func() error
}

// run makes a network, a guest that is pinged, and the guests that are measured.
func (b *bench) run(ctx context.Context, rounds int) (err error) {
	defer func() {
		for _, f := range slices.Backward(b.undo) {
			if e := f(); err == nil {
				err = e
			}
		}
	}()
	if err := b.agent(); err != nil {
		return err
	}
	n, err := b.make("network", map[string]any{"name": "wirebench", "port_security_enabled": b.security})
	if err != nil {
		return err
	}
	b.network = n
	if b.subnet, err = b.make("subnet", map[string]any{"network_id": n, "ip_version": 4, "cidr": "192.0.2.0/24", "enable_dhcp": false, "gateway_ip": nil}); err != nil {
		return err
	}
	target, err := b.guest(1)
	if err != nil {
		return err
	}
	if _, err := target.wire(b); err != nil {
		return err
	}
	var whole, plugged []time.Duration
	for i := range rounds {
		g, err := b.guest(i + 2)
		if err != nil {
			return err
		}
		first, stop, err := g.ask(target.ip)
		if err != nil {
			return err
		}
		began := time.Now()
		at, err := g.wire(b)
		if err == nil {
			select {
			case answered := <-first:
				whole, plugged = append(whole, answered.Sub(began)), append(plugged, answered.Sub(at))
			case <-ctx.Done():
				err = ctx.Err()
			case <-time.After(b.limit):
				err = fmt.Errorf("guest %d has no answer %s after its plug", i+1, b.limit)
			}
		}
		stop()
		if err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"phase": "wire", "guests": rounds, "security": b.security,
		"bind_to_ping_ms": figures(whole), "plug_to_ping_ms": figures(plugged)})
}

// figures are median, best and worst in milliseconds.
func figures(ds []time.Duration) map[string]float64 {
	slices.Sort(ds)
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()/100) / 10 }
	return map[string]float64{"median": ms(ds[len(ds)/2]), "best": ms(ds[0]), "worst": ms(ds[len(ds)-1])}
}

// agent waits until the API shows the host's agent alive.
func (b *bench) agent() error {
	for end := time.Now().Add(b.limit); ; {
		var out struct {
			Agents []struct {
				Alive bool `json:"alive"`
			} `json:"agents"`
		}
		err := b.call(http.MethodGet, "agents?host="+b.host+"&agent_type=Open%20vSwitch%20agent", nil, &out)
		if err == nil && len(out.Agents) > 0 && out.Agents[0].Alive {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("host %s has no living Open vSwitch agent: %v", b.host, err)
		}
		<-time.After(100 * time.Millisecond)
	}
}

// project owns what is made.
const project = "0123456789abcdef0123456789abcdef"

// make creates a resource and has it deleted at the end.
func (b *bench) make(kind string, body map[string]any) (id string, err error) {
	body["project_id"] = project
	out := map[string]map[string]any{}
	if err := b.call(http.MethodPost, kind+"s", map[string]any{kind: body}, &out); err != nil {
		return "", err
	}
	id, _ = out[kind]["id"].(string)
	b.undo = append(b.undo, func() error { return b.call(http.MethodDelete, kind+"s/"+id, nil, nil) })
	return id, nil
}

// call sends one request as an administrator.
func (b *bench) call(method, path string, body, into any) error {
	var with io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return err
		}
		with = bytes.NewReader(raw)
	}
	req, err := http.NewRequest(method, b.url+"/v2.0/"+path, with)
	if err != nil {
		return err
	}
	for k, v := range map[string]string{"Content-Type": "application/json", "X-Project-Id": project, "X-User-Id": "bench", "X-Roles": "admin"} {
		req.Header.Set(k, v)
	}
	resp, err := b.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode/100 != 2 {
		var text bytes.Buffer
		_, _ = text.ReadFrom(resp.Body) // the status says enough
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text.String())
	}
	if into == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(into)
}
