package dhcp

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"

	"isospin/internal/dataplane/netns"

	"github.com/mdlayher/socket"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Link is one interface on which a network is served: IPv4 packets without their Ethernet headers. Receive is called
// by one goroutine, Send by the same; Close by any, and it ends a Receive.
type Link interface {
	// Receive waits for a packet to the server port. summed: its UDP checksum is in place. An error that is ErrGone
	// or net.ErrClosed is final; after another one Receive may be called again.
	Receive(buf []byte) (n int, from [6]byte, summed bool, err error)
	// Send sends an IPv4 packet in a frame to the hardware address, without asking for it by ARP.
	Send(packet []byte, to [6]byte) error
	// Gone says whether the interface no longer is where the link was opened. Any goroutine may ask.
	Gone() bool
	Close() error
}

// ErrGone says that an interface or its namespace does not exist, or no longer.
var ErrGone = errors.New("dhcp: interface is gone")

// ErrDown is Receive's error when the interface was taken down. It comes once, and also before the interface is
// deleted: Gone tells, a little later.
var ErrDown = errors.New("dhcp: interface is down")

// OpenLink opens a Link. Namespace is a name as package netns knows it, or a path.
type OpenLink func(ctx context.Context, namespace, iface string) (Link, error)

// OpenPacketLink opens the sockets in the namespace; afterwards any thread may use them. It needs CAP_NET_RAW, and
// CAP_SYS_ADMIN to enter the namespace.
func OpenPacketLink(ctx context.Context, namespace, iface string) (Link, error) {
	if !strings.Contains(namespace, "/") {
		namespace = netns.Path(namespace)
	}
	ns, err := os.Open(namespace)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("dhcp: open namespace: %w: %w", ErrGone, err)
	}
	if err != nil {
		return nil, fmt.Errorf("dhcp: open namespace: %w", err)
	}
	defer ns.Close()
	guard, err := openGuard(int(ns.Fd()), iface)
	if err != nil {
		return nil, fmt.Errorf("dhcp: take the server port on %s: %w", iface, err)
	}
	l, err := openPacket(int(ns.Fd()), iface)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("dhcp: open packet socket on %s: %w", iface, err), guard.Close())
	}
	l.guard, l.namespace = guard, namespace
	if l.identity, err = ns.Stat(); err != nil {
		return nil, errors.Join(fmt.Errorf("dhcp: know the namespace: %w", err), l.Close())
	}
	return l, nil
}

// packetLink reads through a packet socket, which works whatever addresses and routes the interface has, and to which
// clients without an address are reachable.
type packetLink struct {
	conn *socket.Conn
	raw  syscall.RawConn
	// guard owns UDP port 67 but takes nothing: without it the kernel would answer unicast requests with
	// "port unreachable".
	guard *socket.Conn
	// The sockets keep a namespace alive whose name is gone; so the name's file is what counts.
	namespace string
	identity  os.FileInfo

	// State of the one receiver and of the one sender, so that neither allocates closures.
	in      receiving
	readFn  func(fd uintptr) bool
	out     sending
	writeFn func(fd uintptr) bool
}

type receiving struct {
	buf, oob []byte
	n, oobn  int
	from     unix.Sockaddr
	err      error
}

type sending struct {
	packet []byte
	to     unix.SockaddrLinklayer
	err    error
}

func openGuard(ns int, iface string) (*socket.Conn, error) {
	c, err := socket.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0, "dhcp-port", &socket.Config{NetNS: ns})
	if err != nil {
		return nil, err
	}
	nothing, err := bpf.Assemble([]bpf.Instruction{bpf.RetConstant{Val: 0}})
	for _, step := range []func() error{
		func() error { return err },
		func() error { return c.SetBPF(nothing) },
		func() error { return c.SetsockoptInt(unix.SOL_SOCKET, unix.SO_REUSEADDR, 1) },
		func() error { return c.SetsockoptString(unix.SOL_SOCKET, unix.SO_BINDTODEVICE, iface) },
		func() error { return c.Bind(&unix.SockaddrInet4{Port: serverPort}) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return c, nil
}

func openPacket(ns int, iface string) (*packetLink, error) {
	// Protocol 0 keeps the socket deaf until it is bound to its interface.
	c, err := socket.Socket(unix.AF_PACKET, unix.SOCK_DGRAM, 0, "dhcp-packet", &socket.Config{NetNS: ns})
	if err != nil {
		return nil, err
	}
	l := &packetLink{conn: c}
	l.in.oob = make([]byte, unix.CmsgSpace(20))
	l.readFn, l.writeFn = l.readOnce, l.writeOnce
	for _, step := range []func() error{
		func() error { return c.SetBPF(requestFilter()) },
		func() error { return c.SetsockoptInt(unix.SOL_PACKET, unix.PACKET_AUXDATA, 1) },
		func() (err error) { l.raw, err = c.SyscallConn(); return err },
		func() error {
			index, err := interfaceIndex(l.raw, iface)
			if err != nil {
				return err
			}
			l.out.to = unix.SockaddrLinklayer{Protocol: swap(unix.ETH_P_IP), Ifindex: index, Halen: 6}
			return c.Bind(&unix.SockaddrLinklayer{Protocol: swap(unix.ETH_P_IP), Ifindex: index})
		},
	} {
		if err := step(); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return l, nil
}

// interfaceIndex asks the socket, which stays in its namespace wherever the thread is.
func interfaceIndex(raw syscall.RawConn, iface string) (int, error) {
	ifr, err := unix.NewIfreq(iface)
	if err != nil {
		return 0, err
	}
	var ierr error
	if err := raw.Control(func(fd uintptr) { ierr = unix.IoctlIfreq(int(fd), unix.SIOCGIFINDEX, ifr) }); err != nil {
		return 0, err
	}
	return int(ifr.Uint32()), ierr
}

// requestFilter lets unfragmented UDP to the server port through that is addressed to this interface or to all, and
// nothing else: garbage costs no wake-up.
func requestFilter() []bpf.RawInstruction {
	const drop = 255
	prog := []bpf.Instruction{
		bpf.LoadExtension{Num: bpf.ExtType},
		bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: unix.PACKET_BROADCAST, SkipTrue: drop},
		bpf.LoadAbsolute{Off: 9, Size: 1},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.IPPROTO_UDP, SkipTrue: drop},
		bpf.LoadAbsolute{Off: 6, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: 0x3fff, SkipTrue: drop},
		bpf.LoadMemShift{Off: 0},
		bpf.LoadIndirect{Off: 2, Size: 2},
		bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: serverPort, SkipTrue: drop},
		bpf.RetConstant{Val: 1 << 16},
		bpf.RetConstant{Val: 0},
	}
	for i, ins := range prog {
		if j, ok := ins.(bpf.JumpIf); ok {
			j.SkipTrue = uint8(len(prog) - 2 - i)
			prog[i] = j
		}
	}
	raw, err := bpf.Assemble(prog)
	if err != nil {
		panic(err) // the program is a constant
	}
	return raw
}

// Receive waits for a request.
func (l *packetLink) Receive(buf []byte) (int, [6]byte, bool, error) {
	l.in.buf = buf
	if err := l.raw.Read(l.readFn); err != nil {
		return 0, hwaddr{}, false, fmt.Errorf("dhcp: receive: %w: %w", net.ErrClosed, err) // nothing else fails here
	}
	if err := l.in.err; err != nil {
		if errors.Is(err, unix.ENETDOWN) {
			err = ErrDown
		}
		return 0, hwaddr{}, false, fmt.Errorf("dhcp: receive: %w", err)
	}
	from, ok := l.in.from.(*unix.SockaddrLinklayer)
	if !ok || from.Halen != 6 {
		return 0, hwaddr{}, false, nil // no Ethernet; the empty packet is ignored
	}
	return l.in.n, hwaddr(from.Addr[:6]), l.summed(), nil
}

func (l *packetLink) readOnce(fd uintptr) bool {
	in := &l.in
	in.n, in.oobn, _, in.from, in.err = unix.Recvmsg(int(fd), in.buf, in.oob, 0)
	return in.err != unix.EAGAIN && in.err != unix.EINTR
}

// summed looks for the kernel's word that the checksum was left to hardware.
func (l *packetLink) summed() bool {
	const notReady = unix.TP_STATUS_CSUMNOTREADY
	h, data, _, err := unix.ParseOneSocketControlMessage(l.in.oob[:l.in.oobn])
	if err != nil || h.Level != unix.SOL_PACKET || h.Type != unix.PACKET_AUXDATA || len(data) < 4 {
		return true
	}
	return binary.NativeEndian.Uint32(data)&notReady == 0
}

// Gone says whether the interface was deleted or moved, whereupon the kernel unbinds the socket, or whether the
// namespace's name is gone or another's.
func (l *packetLink) Gone() bool {
	sa, err := l.conn.Getsockname()
	if ll, ok := sa.(*unix.SockaddrLinklayer); err != nil || !ok || ll.Ifindex <= 0 {
		return true
	}
	now, err := os.Stat(l.namespace)
	return err != nil || !os.SameFile(now, l.identity)
}

// Send sends one packet.
func (l *packetLink) Send(packet []byte, to [6]byte) error {
	l.out.packet = packet
	copy(l.out.to.Addr[:], to[:])
	if err := l.raw.Write(l.writeFn); err != nil {
		return fmt.Errorf("dhcp: send: %w: %w", net.ErrClosed, err)
	}
	if l.out.err != nil {
		return fmt.Errorf("dhcp: send: %w", l.out.err)
	}
	return nil
}

func (l *packetLink) writeOnce(fd uintptr) bool {
	l.out.err = unix.Sendto(int(fd), l.out.packet, unix.MSG_DONTWAIT, &l.out.to)
	// A full queue drops the answer: the client asks again, and nobody else must wait for it.
	return l.out.err != unix.EINTR
}

// Close gives both sockets back and ends a Receive.
func (l *packetLink) Close() error { return errors.Join(l.conn.Close(), l.guard.Close()) }

func swap(v uint16) uint16 { return v<<8 | v>>8 }
