// Package space makes the places of a lab: network namespaces with mount namespaces of their own, pinned
// to files so that they outlive the process that made them. The lab calls it for hosts, guests, the fabric
// and the outside. It never kills a process and never touches a namespace that it was not given by name.
package space

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/unix"
)

// NetDir is where named network namespaces live, as iproute2 has it.
const NetDir = "/run/netns"

// Space is one place: a network namespace under NetDir and, when Mount is set, a mount namespace pinned
// to that file.
type Space struct {
	Name  string `json:"name"`
	Mount string `json:"mount,omitempty"`
}

// Plan says how the mount namespace of a new Space looks. The zero value keeps the machine's mounts
// except for /sys, which shows the new network namespace, and /run/netns, which is empty and private.
type Plan struct {
	// Bind lays files or folders over others: target -> source. A target that is missing is left out.
	Bind map[string]string
	// Sysctl is written inside, below /proc/sys: "net/ipv4/ip_forward" -> "1". A key that the kernel
	// lacks is left out, since modules differ between machines.
	Sysctl map[string]string
}

// NetPath is the file that pins the network namespace.
func (s Space) NetPath() string { return filepath.Join(NetDir, s.Name) }

// Exists tells whether the network namespace is there.
func (s Space) Exists() bool { return isNamespace(s.NetPath()) }

// Create makes the namespaces. On error nothing of them remains.
func (s Space) Create(p Plan) error {
	if err := os.MkdirAll(NetDir, 0o755); err != nil {
		return fmt.Errorf("folder of network namespaces: %w", err)
	}
	for _, pin := range []string{s.NetPath(), s.Mount} {
		if pin == "" {
			continue
		}
		f, err := os.OpenFile(pin, os.O_CREATE|os.O_EXCL, 0o444)
		if err != nil {
			if pin == s.Mount { // The first pin is ours by now.
				err = errors.Join(err, os.Remove(s.NetPath()))
			}
			return fmt.Errorf("pin of namespace %s: %w", s.Name, err)
		}
		_ = f.Close()
	}
	if err := s.create(p); err != nil {
		return errors.Join(fmt.Errorf("namespace %s: %w", s.Name, err), s.Delete())
	}
	return nil
}

// create does the work on a thread that ends afterwards. The pins are bound by another thread, because a
// mount made inside the new mount namespace would not be seen outside.
func (s Space) create(p Plan) error {
	tid, made, pinned, done := make(chan int, 1), make(chan error, 1), make(chan error, 1), make(chan error, 1)
	go func() {
		done <- onThread(func() error {
			tid <- unix.Gettid()
			flags := unix.CLONE_NEWNET
			if s.Mount != "" {
				flags |= unix.CLONE_NEWNS
			}
			made <- unix.Unshare(flags)
			if err := <-pinned; err != nil {
				return err
			}
			if s.Mount != "" {
				if err := furnish(p); err != nil {
					return err
				}
			}
			return writeSysctl(p.Sysctl)
		})
	}()
	dir := fmt.Sprintf("/proc/self/task/%d/ns/", <-tid)
	err := <-made
	if err == nil {
		err = unix.Mount(dir+"net", s.NetPath(), "", unix.MS_BIND, "")
	}
	if err == nil && s.Mount != "" {
		err = unix.Mount(dir+"mnt", s.Mount, "", unix.MS_BIND, "")
	}
	pinned <- err
	return <-done
}

// furnish shapes the mount namespace of the calling thread.
func furnish(p Plan) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	// Copies of other namespaces' pins would keep those alive after their owners removed them.
	for _, at := range mountsBelow(NetDir) {
		_ = unix.Unmount(at, unix.MNT_DETACH)
	}
	if err := unix.Mount("tmpfs", NetDir, "tmpfs", 0, "mode=755"); err != nil {
		return fmt.Errorf("private %s: %w", NetDir, err)
	}
	if err := unix.Mount("sysfs", "/sys", "sysfs", 0, ""); err != nil {
		return fmt.Errorf("own /sys: %w", err)
	}
	for target, source := range p.Bind {
		real, err := filepath.EvalSymlinks(target)
		if err != nil {
			continue
		}
		if err := unix.Mount(source, real, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
			return fmt.Errorf("bind %s over %s: %w", source, target, err)
		}
	}
	return nil
}

func writeSysctl(values map[string]string) error {
	for key, value := range values {
		err := os.WriteFile(filepath.Join("/proc/sys", key), []byte(value), 0)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("sysctl %s: %w", key, err)
		}
	}
	return nil
}

// Sysctl writes values (see Plan) inside.
func (s Space) Sysctl(values map[string]string) error {
	return s.Do(func() error { return writeSysctl(values) })
}

// Delete removes the pins; the kernel frees what nothing else holds. A missing pin is not an error.
func (s Space) Delete() error {
	var errs []error
	for _, pin := range []string{s.Mount, s.NetPath()} {
		if pin != "" {
			errs = append(errs, Unpin(pin))
		}
	}
	return errors.Join(errs...)
}

// Unpin unmounts everything at a file and removes the file.
func Unpin(pin string) error {
	for unix.Unmount(pin, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW) == nil {
	}
	if err := os.Remove(pin); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove pin: %w", err)
	}
	return nil
}

// Do runs f on a thread inside the Space; the thread ends afterwards.
func (s Space) Do(f func() error) error {
	return onThread(func() error {
		if err := s.enter(); err != nil {
			return err
		}
		return f()
	})
}

// Start starts cmd inside the Space; the caller waits for it as usual.
func (s Space) Start(cmd *exec.Cmd) error { return s.Do(cmd.Start) }

// Become replaces this process by argv inside the Space; it returns only on failure.
func (s Space) Become(argv, env []string) error {
	path, err := exec.LookPath(argv[0])
	if err != nil {
		return fmt.Errorf("find program: %w", err)
	}
	return s.Do(func() error { return unix.Exec(path, argv, env) })
}

// enter moves the calling thread, which must be locked and thrown away, inside.
func (s Space) enter() error {
	if err := setns(s.NetPath(), unix.CLONE_NEWNET); err != nil {
		return err
	}
	if s.Mount == "" {
		return nil
	}
	// The working folder and root must not be shared with other threads when the mounts change.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("unshare working folder: %w", err)
	}
	cwd, _ := os.Getwd()
	if err := setns(s.Mount, unix.CLONE_NEWNS); err != nil {
		return err
	}
	if cwd != "" {
		_ = unix.Chdir(cwd)
	}
	return nil
}

func setns(pin string, kind int) error {
	fd, err := unix.Open(pin, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open namespace %s: %w", pin, err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, kind); err != nil {
		return fmt.Errorf("enter namespace %s: %w", pin, err)
	}
	return nil
}

// onThread runs f on a thread of its own, which is never the process' first one: /proc/self shows the
// first thread's namespaces, and the runtime cannot end it.
func onThread(f func() error) error {
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			result <- onThread(f)
			runtime.UnlockOSThread()
			return
		}
		result <- f() // Still locked: the thread ends with the goroutine.
	}()
	return <-result
}
