//go:build vm

package vmlab

import (
	"context"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"isospin/internal/lab"
)

// TestGuarantee: a port with a minimum of bandwidth has a queue of the kernel's on the wire of its physical network, what its guest sends goes
// through that queue, and with the policy the queue goes.
func TestGuarantee(t *testing.T) {
	l, err := lab.Up(t.Context(), lab.Options{Dir: t.TempDir(), Hosts: []lab.HostSpec{{Name: "h1"}}, Datapath: lab.Kernel, Binary: os.Getenv("ISOSPIN_BINARY")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
	})
	client, err := l.Cloud(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	call := func(method, path, name string, attributes object) string {
		t.Helper()
		var out map[string]object
		_, err := client.API().Request(t.Context(), method, client.API().ServiceURL(path),
			&gophercloud.RequestOpts{JSONBody: object{name: attributes}, JSONResponse: &out, OkCodes: []int{200, 201}})
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		id, _ := out[name]["id"].(string)
		return id
	}
	network := call(http.MethodPost, "networks", "network", object{"provider:network_type": "flat", "provider:physical_network": "public"})
	call(http.MethodPost, "subnets", "subnet", object{"network_id": network, "ip_version": 4, "cidr": "203.0.113.0/24", "enable_dhcp": false})
	policy := call(http.MethodPost, "qos/policies", "policy", object{"name": "guaranteed"})
	call(http.MethodPost, "qos/policies/"+policy+"/minimum_bandwidth_rules", "minimum_bandwidth_rule", object{"min_kbps": 3000, "direction": "egress"})
	g, err := l.Boot(t.Context(), lab.BootOptions{Name: "a", Host: "h1", Network: network, NoDHCP: true, Timeout: 2 * time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	call(http.MethodPut, "ports/"+g.PortID, "port", object{"qos_policy_id": policy})
	until := func(what string, args []string, done func(string) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; <-time.After(100 * time.Millisecond) {
			out, err := l.Exec(t.Context(), "h1", args...)
			if err == nil && done(out) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: %v\n%s", what, err, out)
			}
		}
	}
	classes := []string{"tc", "-s", "class", "show", "dev", "eth2"}
	until("a queue on the wire", classes, func(out string) bool { return strings.Contains(out, "rate 3Mbit ceil 34359Mbit") })
	if out, err := l.Exec(t.Context(), "a", "ping", "-c5", "-i0.2", "-W10", "203.0.113.1"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	until("packets in the queue", classes, func(out string) bool {
		_, queue, _ := strings.Cut(out, "rate 3Mbit")
		_, sent, _ := strings.Cut(queue, "Sent ")
		count := strings.Fields(sent)
		return len(count) > 2 && len(count[2]) > 0 && count[2] != "0" && count[2] != "1"
	})
	call(http.MethodPut, "ports/"+g.PortID, "port", object{"qos_policy_id": nil})
	until("no queue on the wire", classes, func(out string) bool { return !strings.Contains(out, "rate 3Mbit") })
}
