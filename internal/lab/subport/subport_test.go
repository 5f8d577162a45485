package subport

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"

	"go.uber.org/goleak"

	"isospin/internal/lab/cable"
	"isospin/internal/lab/space"
)

// TestTwoGuestsSpeakTagged: two devices of one VLAN reach each other by their parents, one of another VLAN does not, and nothing stays.
func TestTwoGuestsSpeakTagged(t *testing.T) {
	goleak.VerifyNone(t)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	var spaces [2]space.Space
	var ends [2]cable.End
	for i := range spaces {
		spaces[i] = space.Space{Name: fmt.Sprintf("subporttest-%d-%d", i, os.Getpid())}
		must(spaces[i].Create(space.Plan{}))
		defer func() { must(spaces[i].Delete()) }()
		in, err := cable.Open(spaces[i].NetPath())
		must(err)
		defer in.Close()
		ends[i] = cable.End{In: in, Name: "eth0"}
	}
	// A guest answers for addresses of the device that is asked only.
	must(spaces[1].Sysctl(map[string]string{"net/ipv4/conf/all/arp_ignore": "1"}))
	must(cable.Pair(ends[0], ends[1], 1400))
	var made []*Device
	for i, plan := range []Plan{{VLAN: 7}, {VLAN: 7}, {VLAN: 8}} {
		at := min(i, 1)
		plan.Parent, plan.Name, plan.MTU = "eth0", fmt.Sprint("eth0.", plan.VLAN), 1400
		plan.MAC = net.HardwareAddr{2, 0, 0, 0, 0, byte(i)}
		must(spaces[at].Do(func() error {
			d, err := Make(plan)
			made = append(made, d)
			return err
		}))
		out, err := exec.Command("ip", "-n", spaces[at].Name, "addr", "add", fmt.Sprintf("10.5.0.%d/24", i+1), "dev", plan.Name).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	ping := func(ip string, size int) error {
		return exec.Command("ip", "netns", "exec", spaces[0].Name, "ping", "-c1", "-W0.5", "-M", "do", "-s", fmt.Sprint(size), ip).Run()
	}
	if err := ping("10.5.0.2", 1400-28); err != nil {
		t.Errorf("the other guest does not answer: %v", err)
	}
	if ping("10.5.0.3", 56) == nil {
		t.Error("a device of another VLAN answers")
	}
	for _, d := range made {
		must(d.Close())
		must(d.Close())
	}
	if ends[0].In.Has("eth0.7") {
		t.Error("the device is still there")
	}
}

func TestTagged(t *testing.T) {
	got := Tagged(make([]byte, 32), []byte("destinsource\x08\x00text"), 5)
	if want := []byte("destinsource\x81\x00\x00\x05\x08\x00text"); !bytes.Equal(got, want) {
		t.Errorf("%q", got)
	}
}
