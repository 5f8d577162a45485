package space

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// ID is the kernel's identity of a namespace.
type ID struct{ Dev, Ino uint64 }

// IDs lists the identities of the namespaces of s: network, mounts, and the network namespaces that
// processes inside have named in its private /run/netns. What is missing is left out.
func (s Space) IDs() []ID {
	var ids []ID
	for _, pin := range []string{s.NetPath(), s.Mount} {
		if pin != "" && isNamespace(pin) {
			ids = append(ids, identity(pin))
		}
	}
	if s.Mount == "" || !isNamespace(s.Mount) {
		return ids
	}
	// An error means that the place is half gone, and then there is nothing inside to be found.
	_ = s.Do(func() error {
		entries, err := os.ReadDir(NetDir)
		for _, e := range entries {
			if pin := filepath.Join(NetDir, e.Name()); isNamespace(pin) {
				ids = append(ids, identity(pin))
			}
		}
		return err
	})
	return ids
}

// OfProcess is the identity of a process' network and mount namespaces.
func OfProcess(pid int) []ID {
	var ids []ID
	for _, kind := range []string{"net", "mnt"} {
		if id := identity(fmt.Sprintf("/proc/%d/ns/%s", pid, kind)); id != (ID{}) {
			ids = append(ids, id)
		}
	}
	return ids
}

// Named lists the network namespaces under NetDir whose names begin with prefix.
func Named(prefix string) []string {
	entries, _ := os.ReadDir(NetDir) // A missing folder has no namespaces.
	var names []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			names = append(names, e.Name())
		}
	}
	return names
}

// PinDir makes a folder where mount namespaces can be pinned: a mount of its own that is private, as the
// kernel wants it.
func PinDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of pins: %w", err)
	}
	if slices.Contains(mountsBelow(dir), dir) {
		return nil
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("folder of pins: %w", err)
	}
	if err := unix.Mount("", dir, "", unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("folder of pins: make private: %w", err)
	}
	return nil
}

// DropPinDir unmounts and removes what PinDir made, with all pins in it.
func DropPinDir(dir string) error {
	for _, at := range mountsBelow(dir) {
		if err := unix.Unmount(at, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("unmount pin: %w", err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("folder of pins: %w", err)
	}
	return nil
}

// mountsBelow lists the mount points at and below dir in the calling thread's mount namespace, innermost
// first.
func mountsBelow(dir string) []string {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return nil
	}
	defer f.Close()
	var at []string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		// The kernel writes blanks and backslashes in octal.
		point := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		if point == dir || strings.HasPrefix(point, dir+"/") {
			at = append(at, point)
		}
	}
	slices.Reverse(at)
	return at
}

func isNamespace(pin string) bool {
	var fs unix.Statfs_t
	return unix.Statfs(pin, &fs) == nil && fs.Type == unix.NSFS_MAGIC
}

func identity(path string) ID {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ID{}
	}
	return ID{Dev: st.Dev, Ino: st.Ino}
}
