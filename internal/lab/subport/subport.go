// Package subport gives a guest a device for one VLAN of another device of its own: a VLAN device, or what does the same on kernels that have
// none: frames with the tag come out of it without, and what goes into it leaves by the other device with the tag. Tests of trunks call it inside a
// guest's network namespace. It sets no addresses.
package subport

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Plan is a device to make.
type Plan struct {
	// Parent is the device that carries the tag; it is up.
	Parent string
	// Name is the new device's, of 15 characters at most.
	Name string
	VLAN uint16
	// MAC is the new device's.
	MAC net.HardwareAddr
	// MTU is the new device's; the parent's must be as large.
	MTU int
}

// Device is a device that works until it is closed.
type Device struct {
	vlan *vlanDevice // the kernel's, which works by itself; else the rest

	tap    int
	parent int
	stop   [2]int // a pipe whose end ends the readers
	tag    uint16
	wg     sync.WaitGroup
	once   sync.Once
}

// largest is more than any frame of the lab.
const largest = 1 << 16

// Make makes the device in the network namespace that the calling thread is in, and sets it up. Its goroutines end with Close.
func Make(p Plan) (*Device, error) {
	d := &Device{tap: -1, parent: -1, stop: [2]int{-1, -1}, tag: p.VLAN}
	v, err := makeVLAN(p)
	if err != nil {
		if v != nil {
			err = errors.Join(err, v.remove())
		}
		return nil, fmt.Errorf("VLAN %d of %s: %w", p.VLAN, p.Parent, err)
	}
	if d.vlan = v; v != nil {
		return d, nil
	}
	if err := d.open(p); err != nil {
		return nil, errors.Join(fmt.Errorf("VLAN %d of %s: %w", p.VLAN, p.Parent, err), d.free())
	}
	d.wg.Go(d.up)
	d.wg.Go(d.down)
	return d, nil
}

func (d *Device) open(p Plan) error {
	parent, err := net.InterfaceByName(p.Parent)
	if err != nil {
		return err
	}
	const all = unix.ETH_P_ALL<<8&0xff00 | unix.ETH_P_ALL>>8 // in the network's order
	if d.parent, err = unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0); err != nil {
		return err
	}
	if err := unix.SetsockoptInt(d.parent, unix.SOL_PACKET, unix.PACKET_AUXDATA, 1); err != nil {
		return err
	}
	if err := unix.Bind(d.parent, &unix.SockaddrLinklayer{Protocol: all, Ifindex: parent.Index}); err != nil {
		return err
	}
	if err := unix.Pipe2(d.stop[:], unix.O_CLOEXEC); err != nil {
		return err
	}
	if d.tap, err = unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0); err != nil {
		return err
	}
	req, err := unix.NewIfreq(p.Name)
	if err != nil {
		return err
	}
	req.SetUint16(unix.IFF_TAP | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(d.tap, unix.TUNSETIFF, req); err != nil {
		return err
	}
	return dress(p)
}

// dress gives the new device its address and MTU, and sets it up.
func dress(p Plan) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(s)
	type hardware struct {
		name   [unix.IFNAMSIZ]byte
		family uint16
		addr   [14]byte
		_      [8]byte
	}
	h := hardware{family: unix.ARPHRD_ETHER}
	copy(h.name[:], p.Name)
	copy(h.addr[:], p.MAC)
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(s), unix.SIOCSIFHWADDR, uintptr(unsafe.Pointer(&h))); errno != 0 {
		return errno
	}
	req, err := unix.NewIfreq(p.Name)
	if err != nil {
		return err
	}
	req.SetUint32(uint32(p.MTU))
	if err := unix.IoctlIfreq(s, unix.SIOCSIFMTU, req); err != nil {
		return err
	}
	if req, err = unix.NewIfreq(p.Name); err != nil {
		return err
	}
	req.SetUint16(unix.IFF_UP)
	return unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req)
}

// ready waits until fd can be read; false once the device is closed.
func (d *Device) ready(fd int) bool {
	for {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(d.stop[0]), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return false
		}
		switch {
		case fds[1].Revents != 0:
			return false
		case fds[0].Revents != 0:
			return true
		}
	}
}

// up carries frames with the tag from the parent to the device. The kernel takes the first tag off and tells it beside the frame.
func (d *Device) up() {
	frame, beside := make([]byte, largest), make([]byte, 256)
	for d.ready(d.parent) {
		n, oobn, _, from, err := unix.Recvmsg(d.parent, frame, beside, unix.MSG_DONTWAIT)
		if err != nil {
			continue // a device that is down says so once
		}
		if l, ok := from.(*unix.SockaddrLinklayer); ok && l.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		if vlan, ok := tag(beside[:oobn]); ok && vlan == d.tag {
			_, _ = unix.Write(d.tap, frame[:n]) // a frame that is lost is a frame that is lost
		}
	}
}

func tag(beside []byte) (uint16, bool) {
	messages, err := unix.ParseSocketControlMessage(beside)
	if err != nil {
		return 0, false
	}
	for _, m := range messages {
		if m.Header.Level != unix.SOL_PACKET || m.Header.Type != unix.PACKET_AUXDATA || len(m.Data) < int(unsafe.Sizeof(unix.TpacketAuxdata{})) {
			continue
		}
		a := (*unix.TpacketAuxdata)(unsafe.Pointer(&m.Data[0]))
		return a.Vlan_tci & 0xfff, a.Status&unix.TP_STATUS_VLAN_VALID != 0
	}
	return 0, false
}

// down carries frames from the device to the parent, with the tag.
func (d *Device) down() {
	in, out := make([]byte, largest), make([]byte, largest+4)
	for d.ready(d.tap) {
		n, err := unix.Read(d.tap, in)
		if err != nil || n < 14 {
			continue
		}
		_ = unix.Send(d.parent, Tagged(out, in[:n], d.tag), 0) // as above
	}
}

// Tagged writes a frame with a tag of VLAN vlan to buf and returns it; a tag that the frame has stays below.
func Tagged(buf, frame []byte, vlan uint16) []byte {
	buf = append(buf[:0], frame[:12]...)
	buf = binary.BigEndian.AppendUint16(buf, 0x8100)
	buf = binary.BigEndian.AppendUint16(buf, vlan)
	return append(buf, frame[12:]...)
}

// Close removes the device.
func (d *Device) Close() error {
	var err error
	d.once.Do(func() {
		if d.vlan != nil {
			err = d.vlan.remove()
			return
		}
		_, err = unix.Write(d.stop[1], []byte{0})
		d.wg.Wait()
		err = errors.Join(err, d.free())
	})
	return err
}

func (d *Device) free() error {
	var errs []error
	for _, fd := range []int{d.tap, d.parent, d.stop[0], d.stop[1]} {
		if fd >= 0 {
			errs = append(errs, unix.Close(fd))
		}
	}
	return errors.Join(errs...)
}
