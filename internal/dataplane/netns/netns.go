// Package netns makes, opens and enters named network namespaces under /run/netns, as `ip netns` knows them.
// The other dataplane packages work through it. The name "" is the namespace of the process itself, the
// host's. It also works in a mount namespace whose /run/netns is its own.
//
// A restarted agent knows its namespaces by the prefixes of their names (qdhcp-, qrouter-, ...): the driver
// is made with a predicate and never touches a name that it does not hold for.
package netns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// Dir is where named namespaces are mounted.
const Dir = "/run/netns"

// Own says whether a namespace of that name is ours.
type Own func(name string) bool

// Prefixes is an Own that holds for names that begin with any of them.
func Prefixes(prefixes ...string) Own {
	return func(name string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return false
	}
}

// Path is the file that names the namespace to other programs; the process's own for "".
func Path(name string) string {
	if name == "" {
		return "/proc/self/ns/net"
	}
	return filepath.Join(Dir, name)
}

// Create makes a namespace with its loopback device up. It is fs.ErrExist when there is one of that name.
func Create(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	if err := prepare(); err != nil {
		return err
	}
	f, err := os.OpenFile(Path(name), os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o444)
	if errors.Is(err, fs.ErrExist) && !isNamespace(Path(name)) {
		err = nil // the file of one that was half made, or half deleted
	}
	if err != nil {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	if f != nil {
		_ = f.Close()
	}
	if err := onThread(func() error { return makeHere(Path(name)) }); err != nil {
		_ = os.Remove(Path(name)) // the first error is the one to tell
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return number(name)
}

// number gives a namespace an ID in the host's: a Monitor hears only of namespaces that have one.
func number(names ...string) error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	for _, name := range names {
		f, err := Open(name)
		if err != nil {
			continue // gone already
		}
		err = h.SetNetNsIdByFd(int(f.Fd()), -1)
		_ = f.Close()
		if err != nil && !errors.Is(err, unix.EEXIST) {
			return fmt.Errorf("namespace %s: numbering: %w", name, err)
		}
	}
	return nil
}

// Delete takes the name away; the namespace ends when the last process in it has. It is no error when there is none.
func Delete(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	err := unix.Unmount(Path(name), unix.MNT_DETACH)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("namespace %s: unmounting: %w", name, err)
	}
	if err := os.Remove(Path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("namespace %s: %w", name, err)
	}
	return nil
}

// List names the namespaces that own holds for; nil holds for all.
func List(own Own) ([]string, error) {
	entries, err := os.ReadDir(Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if (own == nil || own(e.Name())) && isNamespace(Path(e.Name())) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Exists says whether there is a namespace of that name.
func Exists(name string) bool { return name == "" || isNamespace(Path(name)) }

// Open is the namespace as a file; as long as it is open the namespace lives. It is fs.ErrNotExist when there is none.
func Open(name string) (*os.File, error) {
	if name != "" && !isNamespace(Path(name)) {
		return nil, fmt.Errorf("namespace %s: %w", name, fs.ErrNotExist)
	}
	return os.Open(Path(name))
}

// Do runs f inside the namespace, on a thread of its own for as long. Goroutines that f starts, and what it
// opens by the standard resolver, are not inside; sockets that it opens stay there. f may start processes.
func Do(ctx context.Context, name string, f func(context.Context) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if name == "" {
		return f(ctx)
	}
	target, err := Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = target.Close() }()
	return onThread(func() error {
		if err := unix.Setns(int(target.Fd()), unix.CLONE_NEWNET); err != nil {
			return fmt.Errorf("entering namespace %s: %w", name, err)
		}
		return f(ctx)
	})
}

// Handle opens netlink's routing family inside the namespace. The caller closes it; it serves one goroutine at a time.
func Handle(ctx context.Context, name string) (*netlink.Handle, error) {
	var h *netlink.Handle
	err := Do(ctx, name, func(context.Context) (err error) {
		h, err = netlink.NewHandle(unix.NETLINK_ROUTE)
		return err
	})
	return h, err
}

// Dump repeats a netlink dump that the kernel says was interrupted by a change.
func Dump[T any](dump func() (T, error)) (T, error) {
	for range 20 {
		v, err := dump()
		if !errors.Is(err, netlink.ErrDumpInterrupted) {
			return v, err
		}
	}
	return dump()
}

// onThread runs f on a locked thread. The thread goes back to the namespace it came from; if it cannot, it
// ends with its goroutine, and the runtime makes another.
func onThread(f func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		err := errors.New("ended early") // what the caller hears if f ends its goroutine
		defer func() { done <- err }()
		origin, e := os.Open("/proc/thread-self/ns/net")
		if e != nil {
			err = e
			return
		}
		defer func() {
			if unix.Setns(int(origin.Fd()), unix.CLONE_NEWNET) == nil {
				runtime.UnlockOSThread()
			}
			_ = origin.Close()
		}()
		err = f()
	}()
	return <-done
}

// makeHere gives the calling thread a new namespace and mounts it on path.
func makeHere(path string) error {
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("unshare: %w", err)
	}
	if err := unix.Mount("/proc/thread-self/ns/net", path, "", unix.MS_BIND, ""); err != nil {
		return fmt.Errorf("mounting: %w", err)
	}
	err := loopback()
	if err != nil {
		err = errors.Join(err, unix.Unmount(path, unix.MNT_DETACH))
	}
	return err
}

// loopback puts lo up in the calling thread's namespace.
func loopback() error {
	h, err := netlink.NewHandle(unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer h.Close()
	lo, err := h.LinkByName("lo")
	if err != nil {
		return fmt.Errorf("lo: %w", err)
	}
	if lo.Attrs().RawFlags&unix.IFF_UP != 0 {
		return nil
	}
	return h.LinkSetUp(lo)
}

// prepare makes the folder a shared mount, as `ip netns add` does: then a namespace's mount reaches the
// mount namespaces of other processes, and its unmount does too, so that deleting it sets it free.
func prepare() error {
	if err := os.MkdirAll(Dir, 0o755); err != nil {
		return err
	}
	err := unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "")
	if !errors.Is(err, unix.EINVAL) {
		return err
	}
	if err := unix.Mount(Dir, Dir, "none", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting %s on itself: %w", Dir, err)
	}
	return unix.Mount("", Dir, "none", unix.MS_SHARED|unix.MS_REC, "")
}

func isNamespace(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) == nil && st.Type == unix.NSFS_MAGIC
}

func checkName(name string) error {
	if name == "" || name == "." || name == ".." || strings.ContainsAny(name, "/\x00") {
		return fmt.Errorf("%q is no name of a namespace", name)
	}
	return nil
}
