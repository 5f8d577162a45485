package assemble

import (
	"encoding/json"
	"slices"
	"testing"

	"isospin/internal/config"
)

// TestExtensions: what a host has not is not among what its agent's row tells.
func TestExtensions(t *testing.T) {
	c := &config.Agent{}
	c.L2.Extensions = []string{"log", "fdb", "qos", "local_ip"}
	facts, err := bridgeFacts(c)
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Extensions []string `json:"extensions"`
	}
	if err := json.Unmarshal(facts.GetAgents()[0].GetConfigurations(), &said); err != nil || !slices.Equal(said.Extensions, []string{"qos"}) {
		t.Errorf("a host of Linux bridges says %q (%v)", said.Extensions, err)
	}
	if got := extensions(c, "qos", "log", "local_ip"); !slices.Equal(got, []string{"log", "qos", "local_ip"}) {
		t.Errorf("a host of Open vSwitch says %q", got)
	}
}
