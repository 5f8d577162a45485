package assemble

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"isospin/internal/agent"
	"isospin/internal/clock"
	"isospin/internal/ovsdb"
	"isospin/internal/wire"
)

// TestConditionIsTold: reasons travel in the configurations of each of the host's agents, the latest of a moment's once, and go again.
func TestConditionIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		facts := &wire.Facts{TunnelIp: "192.0.2.1", Agents: []*wire.AgentFacts{
			{AgentType: "Open vSwitch agent", Configurations: []byte(`{"devices":0,"reasons":[]}`)}, {AgentType: "DHCP agent", Configurations: []byte(`{}`)}}}
		var told []*wire.Facts
		c := newCondition(clock.System{}, facts, func(f *wire.Facts) { told = append(told, f) })
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- c.run(ctx) }()
		c.set([]agent.Reason{{Text: "no bridge br-x"}})
		synctest.Wait()
		if err := c.ready(ctx); err != nil {
			t.Errorf("one object that fails makes the host unready: %v", err)
		}
		for i := range 10 {
			c.set([]agent.Reason{{Text: fmt.Sprint("try ", i), Whole: true}})
		}
		<-time.After(2 * unsteady)
		if err := c.ready(ctx); err == nil || err.Error() != "try 9" {
			t.Errorf("ready: %v", err)
		}
		c.set(nil)
		<-time.After(2 * unsteady)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		var said []string
		for _, f := range told {
			for _, a := range f.GetAgents() {
				conf := map[string]any{}
				if err := json.Unmarshal(a.GetConfigurations(), &conf); err != nil {
					t.Fatal(err)
				}
				said = append(said, strings.Join(reasonsOf(conf), ","))
			}
			if f.GetTunnelIp() != "192.0.2.1" {
				t.Error("other facts were lost")
			}
		}
		if want := []string{"no bridge br-x", "no bridge br-x", "try 9", "try 9", "", ""}; !slices.Equal(said, want) {
			t.Errorf("said %q, want %q", said, want)
		}
	})
}

// TestReasonsForPeople: a switch that is away is one reason, with what to look at.
func TestReasonsForPeople(t *testing.T) {
	away := errors.Join(ovsdb.ErrNotConnected, errors.New("dial unix /x/db.sock: no such file"))
	got := forPeople([]agent.Reason{
		{Text: fmt.Sprintf("bridges cannot be read: %v", away), Whole: true},
		{Text: fmt.Sprintf("switch ports cannot be read: %v", away), Whole: true},
		{Text: "flows cannot be read: openflow connection: refused", Whole: true},
		{Text: "port p: no device"},
	}, fmt.Errorf("the database does not answer: %w", away))
	want := []agent.Reason{
		{Text: "the database does not answer: not connected to the database server: dial unix /x/db.sock: no such file", Whole: true},
		{Text: "ovs-vswitchd does not answer (is it running?): flows cannot be read: openflow connection: refused", Whole: true},
		{Text: "port p: no device"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %+v", got)
	}
}
