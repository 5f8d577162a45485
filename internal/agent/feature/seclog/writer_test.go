package seclog

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"isospin/internal/clock"
	"isospin/internal/dataplane/openflow"
)

// syn is a frame with the first segment of a connection.
func syn() []byte {
	return []byte{0xfa, 0x16, 0x3e, 0, 0, 2, 0xfa, 0x16, 0x3e, 0, 0, 1, 8, 0,
		0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
		0x9c, 0x40, 0, 80, 0, 0, 0, 0, 0, 0, 0, 0, 0x50, 2, 0, 0, 0, 0, 0, 0}
}

func TestDescribe(t *testing.T) {
	eth := []byte{0xfa, 0x16, 0x3e, 0, 0, 2, 0xfa, 0x16, 0x3e, 0, 0, 1}
	v6 := func(next byte, rest ...byte) []byte {
		b := append(bytes.Clone(eth), 0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, next, 64)
		b = append(append(b, net.ParseIP("2001:db8::1")...), net.ParseIP("2001:db8::2")...)
		return append(b, rest...)
	}
	later := syn()
	later[20], later[21] = 0x20, 10
	const head = "eth(src=fa:16:3e:00:00:01,dst=fa:16:3e:00:00:02,"
	for want, frame := range map[string][]byte{
		head + "type=0x0800,len=54) ipv4(src=192.0.2.1,dst=192.0.2.2,proto=6,ttl=64) tcp(src=40000,dst=80,flags=S)": syn(),
		head + "type=0x0800,len=54) ipv4(src=192.0.2.1,dst=192.0.2.2,proto=6,ttl=64,offset=80)":                     later,
		head + "type=0x0800,len=30)":        syn()[:30],
		head + "vlan=5,type=0x88cc,len=20)": append(bytes.Clone(eth), 0x81, 0, 0x20, 5, 0x88, 0xcc, 1, 2),
		head + "type=0x86dd,len=62) ipv6(src=2001:db8::1,dst=2001:db8::2,proto=17,hlim=64) udp(src=1,dst=53)":          v6(17, 0, 1, 0, 53, 0, 8, 0, 0),
		head + "type=0x86dd,len=62) ipv6(src=2001:db8::1,dst=2001:db8::2,proto=58,hlim=64) icmpv6(type=128,code=0)":    v6(58, 128, 0, 0, 0, 0, 0, 0, 0),
		head + "type=0x86dd,len=70) ipv6(src=2001:db8::1,dst=2001:db8::2,proto=17,hlim=64) udp(src=1,dst=53)":          v6(60, 17, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 53, 0, 8, 0, 0),
		head + "type=0x86dd,len=70) ipv6(src=2001:db8::1,dst=2001:db8::2,proto=17,hlim=64,offset=8)":                   v6(44, 17, 0, 0, 8, 0, 0, 0, 0, 0, 1, 0, 53, 0, 8, 0, 0),
		head + "type=0x0806,len=42) arp(op=1,sha=fa:16:3e:00:00:01,spa=192.0.2.1,tha=00:00:00:00:00:00,tpa=192.0.2.2)": append(bytes.Clone(eth), 8, 6, 0, 1, 8, 0, 6, 4, 0, 1, 0xfa, 0x16, 0x3e, 0, 0, 1, 192, 0, 2, 1, 0, 0, 0, 0, 0, 0, 192, 0, 2, 2),
		"short(len=3)": {1, 2, 3},
	} {
		if got := describe(frame); got != want {
			t.Errorf("%x:\n got %s\nwant %s", frame, got, want)
		}
	}
}

// FuzzDescribe: whatever a guest sends is one short line without anything that it chose freely.
func FuzzDescribe(f *testing.F) {
	f.Add(syn())
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, frame []byte) {
		got := describe(frame)
		if got == "" || len(got) > 400 || strings.ContainsFunc(got, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsControl(r) }) {
			t.Errorf("%q", got)
		}
	})
}

func writer(t *testing.T, path string) (*Writer, *bytes.Buffer) {
	t.Helper()
	book := NewBook()
	book.put("p1", Entry{Project: "a", Accept: []string{"l1"}, Drop: []string{"l1", "l2"}})
	var said bytes.Buffer
	return NewWriter(path, book, clock.NewManual(time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)), slog.New(slog.NewTextHandler(&said, nil))), &said
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func TestLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.log")
	w, said := writer(t, path)
	defer w.close()
	for _, data := range []string{"Ap1", "Dp1", "Ap2", "Xp1", "D", ""} {
		w.packet(openflow.PacketIn{UserData: []byte(data), Data: syn()})
	}
	got := lines(t, path)
	pkt := " vm_port=p1 pkt=" + describe(syn())
	if len(got) != 2 || got[0] != "2024-05-06T07:08:09.000000Z action=ACCEPT project_id=a log_resource_ids=[l1]"+pkt ||
		got[1] != "2024-05-06T07:08:09.000000Z action=DROP project_id=a log_resource_ids=[l1, l2]"+pkt {
		t.Errorf("%q", got)
	}
	if said.Len() != 0 {
		t.Errorf("the agent's log says %s", said)
	}
}

func TestTheAgentsOwnLog(t *testing.T) {
	w, said := writer(t, "")
	w.packet(openflow.PacketIn{UserData: mark(eventDrop, "p1"), Data: syn()})
	if got := said.String(); !strings.Contains(got, "action=DROP project=a log_resources=\"[l1 l2]\" port=p1 pkt=\"eth(") {
		t.Errorf("%s", got)
	}
}

// TestFiles: a file moved away gets a successor, one that is full is set aside, and what cannot be written is said once.
func TestFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.log")
	w, said := writer(t, path)
	defer w.close()
	one := func() { w.packet(openflow.PacketIn{UserData: mark(eventDrop, "p1"), Data: syn()}) }
	one()
	if err := os.Rename(path, path+".moved"); err != nil {
		t.Fatal(err)
	}
	one()
	one()
	if a, b := len(lines(t, path+".moved")), len(lines(t, path)); a != 1 || b != 2 {
		t.Errorf("%d lines in the file moved away, %d in the next", a, b)
	}
	w.max = 600
	for range 10 {
		one()
	}
	at, err := os.Stat(path + ".1")
	if err != nil || at.Size() > w.max || at.Size() < 200 {
		t.Errorf("the file set aside: %v, %v", at, err)
	}
	if at, err := os.Stat(path); err != nil || at.Size() > w.max {
		t.Errorf("the file: %v, %v", at, err)
	}
	w.path = filepath.Join(path, "nowhere")
	one()
	one()
	if n := strings.Count(said.String(), "cannot be written"); n != 1 {
		t.Errorf("said %d times: %s", n, said)
	}
}

// lost is a source whose connection is lost once.
type lost struct{ calls int }

func (l *lost) Packets(ctx context.Context, id uint16, ready func(), packet func(openflow.PacketIn)) error {
	l.calls++
	if l.calls == 1 {
		return errors.New("lost")
	}
	ready()
	packet(openflow.PacketIn{UserData: mark(eventAccept, "p1"), Data: syn()})
	<-ctx.Done()
	return ctx.Err()
}

func TestItListensAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.log")
	w, _ := writer(t, path)
	w.clock = clock.System{}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx, &lost{}) }()
	for deadline := time.Now().Add(5 * time.Second); ; <-time.After(time.Millisecond) {
		if at, err := os.Stat(path); err == nil && at.Size() > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Error("nothing was written")
			break
		}
	}
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
