package link

import (
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// offload says whether the device leaves transmit checksums to others. It asks in the calling thread's namespace.
func offload(name string) (bool, error) {
	v, err := ethtool(name, unix.ETHTOOL_GTXCSUM, 0)
	if err != nil {
		return false, fmt.Errorf("reading the checksum offload of %s: %w", name, err)
	}
	return v != 0, nil
}

// noOffload makes the kernel fill transmit checksums in itself.
func noOffload(name string) error {
	on, err := offload(name)
	if err != nil || !on {
		return err
	}
	if _, err := ethtool(name, unix.ETHTOOL_STXCSUM, 0); err != nil {
		return fmt.Errorf("turning the checksum offload of %s off: %w", name, err)
	}
	return nil
}

// ethtool runs one command whose argument and answer is a number (struct ethtool_value in linux/ethtool.h).
func ethtool(name string, command, value uint32) (uint32, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = unix.Close(fd) }()
	arg := struct{ cmd, data uint32 }{command, value}
	// struct ifreq: the name, then a union whose member here is a pointer; 40 bytes on 64-bit machines.
	req := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		rest [16]byte
	}{data: unsafe.Pointer(&arg)}
	copy(req.name[:unix.IFNAMSIZ-1], name)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&req)))
	runtime.KeepAlive(&arg)
	if errno != 0 {
		return 0, errno
	}
	return arg.data, nil
}
