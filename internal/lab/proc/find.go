package proc

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strconv"
	"sync"
	"syscall"

	"isospin/internal/lab/space"
)

// Find lists the running processes that live in one of the namespaces, or whose environment holds the
// entry mark ("KEY=value"; empty: not looked at). This process and its ancestors are left out, so that a
// shell inside the lab survives the command it runs.
func Find(in []space.ID, mark string) []Ref {
	inside := make(map[space.ID]bool, len(in))
	for _, id := range in {
		inside[id] = true
	}
	spared := ancestors()
	entries, _ := os.ReadDir("/proc")
	var found []Ref
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || spared[pid] {
			continue
		}
		ref, ok := Of(pid)
		if ok && ref.Alive() && (dwells(pid, inside) || marked(pid, mark)) {
			found = append(found, ref)
		}
	}
	return found
}

// EndAll kills the processes together and waits until they are gone.
func EndAll(ctx context.Context, refs []Ref) error {
	for _, r := range refs {
		_ = r.Signal(syscall.SIGKILL) // Kill below reports what could not be sent.
	}
	errs := make([]error, len(refs))
	var wg sync.WaitGroup
	for i, r := range refs {
		wg.Go(func() { errs[i] = r.Kill(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func dwells(pid int, inside map[space.ID]bool) bool {
	for _, id := range space.OfProcess(pid) {
		if inside[id] {
			return true
		}
	}
	return false
}

func marked(pid int, mark string) bool {
	if mark == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for _, entry := range bytes.Split(env, []byte{0}) {
		if string(entry) == mark {
			return true
		}
	}
	return false
}

func ancestors() map[int]bool {
	up := map[int]bool{}
	for pid := os.Getpid(); pid > 1 && !up[pid]; pid = parent(pid) {
		up[pid] = true
	}
	return up
}

func parent(pid int) int {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(string(fields[1]))
	return ppid
}
