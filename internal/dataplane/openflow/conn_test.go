package openflow

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// silent listens as a bridge would and never says a word.
func silent(t *testing.T) (runDir string) {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "br.mgmt"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return dir
}

func TestConnHonoursContext(t *testing.T) {
	c := NewConn(silent(t), "br")
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.ListFlows(ctx, 1); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("listing says %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := c.Watch(ctx, func() { t.Error("ready") }, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("watching says %v", err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}

// TestConnToASwitchThatHangs: it takes the connection and says nothing, as ovs-vswitchd does without its database.
func TestConnToASwitchThatHangs(t *testing.T) {
	c := NewConn(silent(t), "br")
	began := time.Now()
	if _, err := c.ListFlows(t.Context(), 1); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "the switch says nothing") {
		t.Errorf("listing says %v", err)
	}
	if took := time.Since(began); took > 2*helloLimit {
		t.Errorf("said after %s", took)
	}
}

func TestConnWithoutSwitch(t *testing.T) {
	c := NewConn(t.TempDir(), "br")
	if err := c.ApplyFlows(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "connection") {
		t.Errorf("applying says %v", err)
	}
}

// TestSwitchReconnects ends the connection from the other side between calls.
func TestSwitchReconnects(t *testing.T) {
	o, br := bridge(t)
	c := NewConn(o.RunDir, br)
	t.Cleanup(func() { _ = c.Close() })
	d := NewFlows(c, TagOf("l2"))
	want := d.Tag().Want(port(1, Output(1)))
	if err := d.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	// A new identity of the bridge ends all its connections.
	o.Vsctl("set", "bridge", br, "other_config:datapath-id=0000000000000002")
	have, err := d.List(t.Context())
	if err != nil || len(have) != 1 {
		t.Errorf("after the connection was ended: %v, %v", have, err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.List(cancelled); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that ended: %v", err)
	}
	if _, err := d.List(t.Context()); err != nil {
		t.Errorf("after a call that was cut short: %v", err)
	}
}

// TestSwitchLongFlows puts a long flood, and one that is too long.
func TestSwitchLongFlows(t *testing.T) {
	o, br := bridge(t)
	for name, tr := range transports(t, o, br) {
		t.Run(name, func(t *testing.T) {
			d := NewFlows(tr, TagOf("long"))
			flood := func(n, outputs int) Flow {
				f := port(n)
				for range outputs {
					f.Actions = append(f.Actions, SetTunnel(7), Output(2))
				}
				return f
			}
			long, tooLong := flood(1, 1000), flood(2, 3000)
			var each interface{ Unwrap() []error }
			err := d.Put(t.Context(), d.Tag().Want(long, tooLong))
			if !errors.As(err, &each) || len(each.Unwrap()) != 1 {
				t.Errorf("putting says %v", err)
			}
			if have, err := d.List(t.Context()); err != nil || len(have) != 1 {
				t.Errorf("the switch has %v, %v", have, err)
			}
			if err := d.Drop(t.Context(), d.Tag().Want(long)); err != nil {
				t.Error(err)
			}
		})
	}
}
