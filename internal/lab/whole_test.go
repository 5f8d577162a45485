//go:build integration

package lab

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/security/rules"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/networks"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/subnets"

	"isospin/internal/lab/cloud"
)

// TestWhole brings up a lab with Isospin in it and does to it what operators do: guests on two hosts that
// talk, an agent killed and started, a server that is away, a guest that moves, a host that is switched
// off and on.
func TestWhole(t *testing.T) {
	ctx := t.Context()
	binary := filepath.Join(t.TempDir(), "isospin")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/isospin")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v: %s", err, out)
	}
	dir := t.TempDir()
	began := time.Now()
	l, err := Up(ctx, Options{Dir: dir, Hosts: []HostSpec{{Name: "h1"}, {Name: "h2"}}, Binary: binary})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("up after %s", time.Since(began))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if t.Failed() {
			var logs bytes.Buffer
			_ = l.Logs(ctx, &logs, "", 30, false) // What can be read of them helps.
			t.Log(logs.String())
		}
		if err := l.Down(ctx); err != nil {
			t.Error(err)
		}
		nothing(t, dir)
	})
	api, err := l.Cloud(ctx)
	if err != nil {
		t.Fatal(err)
	}
	network := overlay(t, api)
	vms := map[string]*Guest{}
	for name, host := range map[string]string{"vm1": "h1", "vm2": "h2"} {
		began := time.Now()
		g, err := l.Boot(ctx, BootOptions{Name: name, Host: host, Network: network})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s booted after %s", name, time.Since(began))
		vms[name] = g
	}
	untilPing(t, l, "vm1", vms["vm2"].IPs[0])
	stream(t, l, "vm1", "vm2", vms["vm2"].IPs[0])

	t.Run("agent killed and started", func(t *testing.T) {
		lost := whilePinging(t, l, "vm1", vms["vm2"].IPs[0], func() {
			if err := errors.Join(l.AgentKill(ctx, "h2"), l.AgentStart(ctx, "h2")); err != nil {
				t.Error(err)
			}
		})
		if lost > 0 {
			t.Errorf("%d packets were lost", lost)
		}
	})
	t.Run("server away", func(t *testing.T) {
		lost := whilePinging(t, l, "vm1", vms["vm2"].IPs[0], func() {
			if err := errors.Join(l.ServerKill(ctx), l.ServerStart(ctx)); err != nil {
				t.Error(err)
			}
		})
		if lost > 0 {
			t.Errorf("%d packets were lost", lost)
		}
		for _, h := range []string{"h1", "h2"} {
			if err := waitAlive(ctx, api, h); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("migrate", func(t *testing.T) {
		lost := whilePinging(t, l, "vm1", vms["vm2"].IPs[0], func() {
			if _, err := l.Migrate(ctx, "vm2", "h1"); err != nil {
				t.Error(err)
			}
		})
		t.Logf("%d packets of 10 ms were lost", lost)
		untilPing(t, l, "vm1", vms["vm2"].IPs[0])
		if _, err := l.Migrate(ctx, "vm2", "h2"); err != nil {
			t.Fatal(err)
		}
		untilPing(t, l, "vm1", vms["vm2"].IPs[0])
	})
	t.Run("host off and on", func(t *testing.T) {
		if err := errors.Join(l.HostStop(ctx, "h2"), l.HostStart(ctx, "h2")); err != nil {
			t.Fatal(err)
		}
		untilPing(t, l, "vm1", vms["vm2"].IPs[0])
	})
	for name := range vms {
		if err := l.Delete(ctx, name); err != nil {
			t.Error(err)
		}
	}
}

// overlay makes a network with an IPv4 subnet, and lets pings and TCP in to the default group.
func overlay(t *testing.T, api *cloud.Client) string {
	t.Helper()
	ctx := t.Context()
	n, err := networks.Create(ctx, api.API(), networks.CreateOpts{Name: "blue"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	_, err = subnets.Create(ctx, api.API(), subnets.CreateOpts{NetworkID: n.ID, CIDR: "10.0.0.0/24", IPVersion: gophercloud.IPv4, Name: "blue4"}).Extract()
	if err != nil {
		t.Fatal(err)
	}
	var groups struct {
		Groups []struct {
			ID      string `json:"id"`
			Project string `json:"project_id"`
		} `json:"security_groups"`
	}
	if _, err := api.API().Get(ctx, api.API().ServiceURL("security-groups")+"?name=default&project_id="+n.ProjectID, &groups, nil); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups.Groups {
		opts := rules.CreateOpts{Direction: rules.DirIngress, EtherType: rules.EtherType4, SecGroupID: g.ID}
		if _, err := rules.Create(ctx, api.API(), opts).Extract(); err != nil {
			t.Fatal(err)
		}
	}
	return n.ID
}

// whilePinging pings every 10 ms for two seconds, in which do works, and tells how many answers did not come.
func whilePinging(t *testing.T, l *Lab, from, to string, do func()) int {
	t.Helper()
	var out, errOut bytes.Buffer
	p, err := l.Spawn(t.Context(), from, &out, &errOut, "ping", "-q", "-c200", "-i0.01", "-W1", to)
	if err != nil {
		t.Fatal(err)
	}
	do()
	_ = p.Wait() // Its sums tell.
	m := regexp.MustCompile(`(\d+) packets transmitted, (\d+) received`).FindStringSubmatch(out.String())
	if m == nil || m[1] != "200" {
		t.Fatalf("ping said %q %q", out.String(), errOut.String())
	}
	received, err := strconv.Atoi(m[2])
	if err != nil {
		t.Fatal(err)
	}
	return 200 - received
}
