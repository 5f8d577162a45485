package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// guest is a namespace with one device, and a port of the API that is bound to no host yet.
type guest struct {
	ns, tap, port, mac, ip string
}

// guest makes the n-th one.
func (b *bench) guest(n int) (*guest, error) {
	g := &guest{ns: fmt.Sprintf("wirebench-%d-%d", os.Getpid(), n), tap: fmt.Sprintf("tapwb%d", n),
		ip: fmt.Sprintf("192.0.2.%d", n), mac: fmt.Sprintf("fa:16:3e:77:00:%02x", n)}
	var err error
	g.port, err = b.make("port", map[string]any{"network_id": b.network, "mac_address": g.mac, "device_owner": "compute:nova", "device_id": g.ns,
		"fixed_ips": []any{map[string]any{"subnet_id": b.subnet, "ip_address": g.ip}}})
	if err != nil {
		return nil, err
	}
	if err := run("ip", "netns", "add", g.ns); err != nil {
		return nil, err
	}
	b.undo = append(b.undo, func() error { return run("ip", "netns", "delete", g.ns) })
	for _, args := range [][]string{
		{"ip", "link", "add", g.tap, "type", "veth", "peer", "name", "eth0", "netns", g.ns, "address", g.mac},
		{"ethtool", "-K", g.tap, "tx", "off"},
		{"ip", "link", "set", g.tap, "up"},
		{"ip", "netns", "exec", g.ns, "ethtool", "-K", "eth0", "tx", "off"},
		{"ip", "-n", g.ns, "link", "set", "eth0", "up"},
		{"ip", "-n", g.ns, "address", "add", g.ip + "/24", "dev", "eth0"},
		// It asks for MAC addresses every millisecond, not every second: the figure is the cloud's.
		{"ip", "netns", "exec", g.ns, "sysctl", "-qw", "net.ipv4.neigh.eth0.retrans_time_ms=1", "net.ipv4.neigh.eth0.mcast_solicit=100000"},
	} {
		if err := run(args...); err != nil {
			return nil, err
		}
	}
	b.undo = append(b.undo, func() error { return run("ovs-vsctl", "--db="+b.db, "--if-exists", "del-port", "br-int", g.tap) })
	return g, nil
}

// wire binds the port and plugs the device, as os-vif does and without waiting for the switch; at is when it began to plug.
func (g *guest) wire(b *bench) (at time.Time, err error) {
	if err := b.call(http.MethodPut, "ports/"+g.port, map[string]any{"port": map[string]any{"binding:host_id": b.host}}, nil); err != nil {
		return at, err
	}
	at = time.Now()
	return at, run("ovs-vsctl", "--no-wait", "--db="+b.db, "add-port", "br-int", g.tap, "--", "set", "Interface", g.tap, "external_ids:iface-id="+g.port,
		"external_ids:iface-status=active", "external_ids:attached-mac=\""+g.mac+"\"", "external_ids:vm-uuid="+g.ns)
}

// ask begins to ping and gives the moment of the first answer; stop ends it.
func (g *guest) ask(to string) (first <-chan time.Time, stop func(), err error) {
	cmd := exec.Command("ip", "netns", "exec", g.ns, "ping", "-D", "-n", "-i", "0.002", to)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	answered, ended := make(chan time.Time, 1), make(chan struct{})
	go func() {
		defer close(ended)
		lines := bufio.NewScanner(out)
		stamp := regexp.MustCompile(`^\[(\d+)\.(\d+)\].*ttl`)
		told := false
		for lines.Scan() { // to its end, or the pipe fills up
			if m := stamp.FindStringSubmatch(lines.Text()); m != nil && !told {
				sec, _ := strconv.ParseInt(m[1], 10, 64)
				usec, _ := strconv.ParseInt(m[2], 10, 64)
				answered <- time.Unix(sec, usec*1000)
				told = true
			}
		}
		_ = cmd.Wait() // lost packets are no failure
	}()
	stop = func() { _ = cmd.Process.Signal(syscall.SIGINT); <-ended }
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); { // until it asks
		state, err := exec.Command("ip", "-n", g.ns, "neighbour", "show", to).Output()
		if err == nil && strings.Contains(string(state), "INCOMPLETE") {
			return answered, stop, nil
		}
	}
	stop()
	return nil, nil, fmt.Errorf("%s does not ask for %s", g.ns, to)
}

// run runs a command; what it says is in the error.
func run(args ...string) error {
	out, err := exec.Command(args[0], args[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}
