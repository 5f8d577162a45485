package scenario

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"isospin/internal/lab"
)

// qosPolicy makes a QoS policy with a function that adds rules to it: "bandwidth_limit_rule", "dscp_marking_rule".
func (s *Stage) qosPolicy(t *testing.T) (id string, rule func(kind string, attributes Object) (change func(Object))) {
	t.Helper()
	id = inner(t, s.Call(t, "POST", "qos/policies", Object{"policy": Object{"name": "limits"}}), "policy").ID()
	t.Cleanup(func() { s.Call(t, "DELETE", "qos/policies/"+id, nil) })
	return id, func(kind string, attributes Object) func(Object) {
		t.Helper()
		path := "qos/policies/" + id + "/" + kind + "s"
		made := inner(t, s.Call(t, "POST", path, Object{kind: attributes}), kind).ID()
		return func(o Object) { s.Call(t, "PUT", path+"/"+made, Object{kind: o}) }
	}
}

// limits holds a guest to what its port's policy says, in both directions, and marks what it sends. Times mean nothing where the processor is
// emulated: a hundred packets come at once, and what a bucket does not hold of them is lost.
func limits(t *testing.T, s *Stage) {
	policy, rule := s.qosPolicy(t)
	s.Update(t, "port", s.One.PortID, Object{"qos_policy_id": policy})
	t.Cleanup(func() { s.Update(t, "port", s.One.PortID, Object{"qos_policy_id": nil}) })
	some := func(what string, from, to *lab.Guest, few bool) {
		t.Helper()
		s.until(t, 10*time.Second, what, func() (bool, string) {
			got := len(s.volley(t, from, to))
			return few && got > 0 && got < 60 || !few && got > 90, fmt.Sprintf("%d of 100 packets", got)
		})
	}
	send := rule("bandwidth_limit_rule", Object{"max_kbps": 100, "direction": "egress"})
	some("a limit of what is sent", s.One, s.Far, true)
	some("no limit of what is received", s.Far, s.One, false)
	send(Object{"max_kbps": 1000000})
	some("a limit that is far off", s.One, s.Far, false)
	receive := rule("bandwidth_limit_rule", Object{"max_kbps": 100, "direction": "ingress"})
	some("a limit of what is received", s.Far, s.One, true)
	some("a limit of what is received on the same host", s.Beside, s.One, true)
	receive(Object{"max_kbps": 1000000})
	some("a limit that is far off", s.Far, s.One, false)
	rule("dscp_marking_rule", Object{"dscp_mark": 46})
	s.until(t, 10*time.Second, "DSCP 46", func() (bool, string) {
		got := s.volley(t, s.One, s.Far)
		return len(got) > 0 && got[0]>>2 == 46, fmt.Sprint(got)
	})
}

// volley sends a hundred packets at once and tells the traffic classes of those that arrive.
func (s *Stage) volley(t *testing.T, from, to *lab.Guest) (classes []int) {
	t.Helper()
	at := net.UDPAddrFromAddrPort(netip.AddrPortFrom(s.Address(t, to), 5006))
	var in, out *net.UDPConn
	must(t, s.Within(to.Name, func() (err error) { in, err = net.ListenUDP("udp", at); return err }))
	defer in.Close()
	must(t, s.Within(from.Name, func() (err error) { out, err = net.DialUDP("udp", nil, at); return err }))
	defer out.Close()
	raw, err := in.SyscallConn()
	must(t, err)
	var set error
	must(t, raw.Control(func(fd uintptr) {
		if s.Family == IPv4 {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1)
		} else {
			set = unix.SetsockoptInt(int(fd), unix.IPPROTO_IPV6, unix.IPV6_RECVTCLASS, 1)
		}
	}))
	must(t, errors.Join(set, in.SetReadBuffer(1<<20)))
	for range 100 {
		_, err := out.Write(make([]byte, 1000))
		must(t, err)
	}
	data, oob := make([]byte, 2000), make([]byte, 64)
	for {
		must(t, in.SetReadDeadline(time.Now().Add(s.within(300*time.Millisecond))))
		_, n, _, _, err := in.ReadMsgUDP(data, oob)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return classes
		}
		must(t, err)
		messages, err := unix.ParseSocketControlMessage(oob[:n])
		must(t, err)
		for _, m := range messages {
			if m.Header.Type == unix.IP_TOS || m.Header.Type == unix.IPV6_TCLASS {
				classes = append(classes, int(m.Data[0]))
			}
		}
	}
}
