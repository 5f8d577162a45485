package cable

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"runtime"
	"unsafe"

	"github.com/vishvananda/netns"
	"golang.org/x/sys/unix"
)

// OffloadOff turns off transmit checksum offload, and with it segmentation offload, of a device.
func (p *Place) OffloadOff(name string) error {
	return p.socket(unix.AF_INET, unix.SOCK_DGRAM, 0, func(fd int) error {
		type value struct{ cmd, _ uint32 } // the second is the setting: 0, off
		// The kernel reads value through the pointer that follows the name.
		var request struct {
			name  [unix.IFNAMSIZ]byte
			value *value
			_     [16]byte
		}
		copy(request.name[:unix.IFNAMSIZ-1], name)
		request.value = &value{cmd: unix.ETHTOOL_STXCSUM}
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request)))
		runtime.KeepAlive(request.value)
		if errno != 0 && !errors.Is(errno, unix.EOPNOTSUPP) {
			return fmt.Errorf("checksum offload of %s: %w", name, errno)
		}
		return nil
	})
}

// Announce sends a reverse ARP frame from a device, as QEMU does after a migration: every switch on the
// way learns where the MAC address lives now.
func (p *Place) Announce(name string) error {
	l, err := p.link(name)
	if err != nil {
		return err
	}
	mac := l.Attrs().HardwareAddr
	return p.socket(unix.AF_PACKET, unix.SOCK_RAW, 0, func(fd int) error {
		to := &unix.SockaddrLinklayer{Ifindex: l.Attrs().Index, Protocol: 0x3580} // 0x8035 in network order
		if err := unix.Sendto(fd, rarp(mac), 0, to); err != nil {
			return fmt.Errorf("announce %s: %w", name, err)
		}
		return nil
	})
}

// rarp is a reverse ARP request of mac for itself, padded to the shortest frame.
func rarp(mac net.HardwareAddr) []byte {
	var b bytes.Buffer
	b.Write(bytes.Repeat([]byte{0xff}, 6))
	b.Write(mac)
	for _, half := range []uint16{0x8035, 1, 0x0800, 0x0604, 3} {
		_ = binary.Write(&b, binary.BigEndian, half) // A bytes.Buffer takes everything.
	}
	for range 2 { // sender, target: MAC and no address
		b.Write(mac)
		b.Write(make([]byte, 4))
	}
	b.Write(make([]byte, 60-b.Len()))
	return b.Bytes()
}

// socket opens a socket inside the namespace. Only its creation needs a thread there.
func (p *Place) socket(family, kind, protocol int, use func(fd int) error) error {
	type made struct {
		fd  int
		err error
	}
	ch := make(chan made, 1)
	go func() {
		runtime.LockOSThread()
		here, err := netns.Get()
		if err != nil {
			runtime.UnlockOSThread()
			ch <- made{err: err}
			return
		}
		defer here.Close()
		fd, err := -1, netns.Set(p.ns)
		if err == nil {
			fd, err = unix.Socket(family, kind|unix.SOCK_CLOEXEC, protocol)
		}
		if netns.Set(here) == nil {
			runtime.UnlockOSThread() // Otherwise the thread ends with the goroutine.
		}
		ch <- made{fd, err}
	}()
	m := <-ch
	if m.err != nil {
		return fmt.Errorf("socket in namespace: %w", m.err)
	}
	defer unix.Close(m.fd)
	return use(m.fd)
}
