package mirror

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"isospin/internal/agent"
	"isospin/internal/change"
	"isospin/internal/clock"
	"isospin/internal/wire"
)

func port(t testing.TB, id, network string) *wire.Document {
	t.Helper()
	return document(t, wire.KindPort, id, &wire.Port{Id: id, NetworkId: network, SecurityGroups: []string{"g"}})
}

func document(t testing.TB, kind, id string, m proto.Message) *wire.Document {
	t.Helper()
	d, err := wire.Encode(kind, id, m)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func sum(ds ...*wire.Document) (h uint64) {
	for _, d := range ds {
		h += d.Hash()
	}
	return h
}

// whole is a set in one frame.
func whole(set string, ds ...*wire.Document) *wire.Frame {
	return &wire.Frame{Set: set, Begin: true, Complete: true, Put: ds, Hash: sum(ds...)}
}

func apply(t testing.TB, m *Mirror, fs ...*wire.Frame) (dirty []string) {
	t.Helper()
	for _, f := range fs {
		keys, _, err := m.Apply(f)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			dirty = append(dirty, k.ID)
		}
	}
	slices.Sort(dirty)
	return dirty
}

// ports lists what features see.
func ports(m *Mirror) []string {
	return slices.Sorted(maps.Keys(maps.Collect(m.All(wire.KindPort))))
}

func held(m *Mirror) (names []string) {
	for _, s := range m.Have() {
		names = append(names, s.Set)
	}
	return names
}

func open(t testing.TB, dir string) *Mirror {
	t.Helper()
	m, _, err := Open(dir, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestFrames(t *testing.T) {
	p1, p2, p3 := port(t, "p1", "n1"), port(t, "p2", "n1"), port(t, "p3", "n2")
	moved := port(t, "p1", "n2")
	first := whole("host:h", p1, p2)
	cases := []struct {
		name        string
		frames      []*wire.Frame
		dirty       []string
		ports       []string
		onN1        []string
		held        []string
		wantErrHash bool
	}{
		{name: "a set in one frame", frames: []*wire.Frame{first}, dirty: []string{"p1", "p2"}, ports: []string{"p1", "p2"}, onN1: []string{"p1", "p2"}, held: []string{"host:h"}},
		{name: "not whole before its last frame", frames: []*wire.Frame{{Set: "host:h", Begin: true, Put: []*wire.Document{p1}, Hash: sum(p1, p2)}},
			dirty: []string{"p1"}, ports: []string{"p1"}, onN1: []string{"p1"}},
		{name: "a changed document moves in the indexes", frames: []*wire.Frame{first, {Set: "host:h", Put: []*wire.Document{moved}, Hash: sum(moved, p2)}},
			dirty: []string{"p1", "p1", "p2"}, ports: []string{"p1", "p2"}, onN1: []string{"p2"}, held: []string{"host:h"}},
		{name: "the same again is no change", frames: []*wire.Frame{first, first}, dirty: []string{"p1", "p2"}, ports: []string{"p1", "p2"}, onN1: []string{"p1", "p2"}, held: []string{"host:h"}},
		{name: "a transfer removes what it lacks at its end", frames: []*wire.Frame{first, whole("host:h", p2, p3)},
			dirty: []string{"p1", "p1", "p2", "p3"}, ports: []string{"p2", "p3"}, onN1: []string{"p2"}, held: []string{"host:h"}},
		{name: "and not sooner", frames: []*wire.Frame{first, {Set: "host:h", Begin: true, Put: []*wire.Document{p3}}},
			dirty: []string{"p1", "p2", "p3"}, ports: []string{"p1", "p2", "p3"}, onN1: []string{"p1", "p2"}},
		{name: "dropped and put again", frames: []*wire.Frame{first, {Set: "host:h", Drop: []*wire.Key{{Kind: wire.KindPort, Id: "p1"}}, Hash: sum(p2)}, {Set: "host:h", Put: []*wire.Document{p1}, Hash: sum(p1, p2)}},
			dirty: []string{"p1", "p1", "p1", "p2"}, ports: []string{"p1", "p2"}, onN1: []string{"p1", "p2"}, held: []string{"host:h"}},
		{name: "gone", frames: []*wire.Frame{first, {Set: "host:h", Gone: true}}, dirty: []string{"p1", "p1", "p2", "p2"}},
		{name: "a document in two sets leaves with the second", frames: []*wire.Frame{first, whole("net:n1", p1), {Set: "host:h", Gone: true}},
			dirty: []string{"p1", "p1", "p1", "p2", "p2"}, ports: []string{"p1"}, onN1: []string{"p1"}, held: []string{"net:n1"}},
		{name: "a change of another set than the server's", frames: []*wire.Frame{first, {Set: "host:h", Put: []*wire.Document{p3}, Hash: 5}},
			dirty: []string{"p1", "p2", "p3"}, ports: []string{"p1", "p2", "p3"}, onN1: []string{"p1", "p2"}, wantErrHash: true},
		{name: "a transfer that lost something removes nothing", frames: []*wire.Frame{first, {Set: "host:h", Begin: true, Complete: true, Put: []*wire.Document{p3}, Hash: sum(p2, p3)}},
			dirty: []string{"p1", "p2", "p3"}, ports: []string{"p1", "p2", "p3"}, onN1: []string{"p1", "p2"}, wantErrHash: true},
		{name: "a change of a set that is not there", frames: []*wire.Frame{{Set: "host:h", Put: []*wire.Document{p1}, Hash: sum(p1)}}, wantErrHash: true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// Twice: as it comes, and from the journal.
			dir := t.TempDir()
			live := open(t, dir)
			var dirty []string
			var last error
			for _, f := range c.frames {
				keys, _, err := live.Apply(f)
				for _, k := range keys {
					dirty = append(dirty, k.ID)
				}
				last = err
			}
			slices.Sort(dirty)
			if errors.Is(last, ErrHash) != c.wantErrHash {
				t.Errorf("error %v", last)
			}
			if d := cmp.Diff(c.dirty, dirty); d != "" {
				t.Errorf("dirty: %s", d)
			}
			if err := live.Close(); err != nil {
				t.Fatal(err)
			}
			for name, m := range map[string]*Mirror{"live": live, "replayed": open(t, dir), "replayed again": open(t, dir)} {
				if d := cmp.Diff(c.ports, ports(m)); d != "" {
					t.Errorf("%s: ports: %s", name, d)
				}
				on := slices.Sorted(maps.Keys(maps.Collect(m.In(wire.KindPort, agent.ByNetwork, "n1"))))
				if d := cmp.Diff(c.onN1, on); d != "" {
					t.Errorf("%s: on n1: %s", name, d)
				}
				if d := cmp.Diff(c.held, held(m)); d != "" {
					t.Errorf("%s: held: %s", name, d)
				}
			}
		})
	}
}

func TestSyncedDropsSetsThatWereNotSent(t *testing.T) {
	m := open(t, t.TempDir())
	apply(t, m, whole("net:a", port(t, "p1", "a")), &wire.Frame{Set: "net:b", Begin: true, Put: []*wire.Document{port(t, "p2", "b")}})
	if m.Synced() {
		t.Fatal("synced before a server said so")
	}
	if dirty := m.SetSynced(); len(dirty) != 1 || dirty[0].ID != "p2" {
		t.Errorf("dirty: %v", dirty)
	}
	if !m.Synced() || !slices.Equal(ports(m), []string{"p1"}) {
		t.Errorf("synced %v, ports %v", m.Synced(), ports(m))
	}
}

func TestUnreadable(t *testing.T) {
	newer := port(t, "p1", "n")
	newer.Version = 99
	damaged := port(t, "p2", "n")
	damaged.Body = []byte{0xff}
	strange := &wire.Document{Kind: "quark", Id: "q"}
	dir := t.TempDir()
	m := open(t, dir)
	_, bad, err := m.Apply(whole("host:h", newer, damaged, strange, port(t, "p3", "n")))
	if err != nil || len(bad) != 3 {
		t.Fatalf("unreadable: %v, %v", bad, err)
	}
	if !slices.Equal(ports(m), []string{"p3"}) {
		t.Errorf("ports: %v", ports(m))
	}
	older := port(t, "p1", "n")
	_, bad, err = m.Apply(&wire.Frame{Set: "host:h", Put: []*wire.Document{older}, Hash: sum(older, damaged, strange, port(t, "p3", "n"))})
	if err != nil || len(bad) != 0 {
		t.Fatalf("unreadable: %v, %v", bad, err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again, bad, err := Open(dir, clock.System{})
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.SortedFunc(maps.Keys(bad), func(a, b change.Key) int { return len(a.Kind) - len(b.Kind) }); len(got) != 2 {
		t.Errorf("unreadable after the start: %v", bad)
	}
	if !slices.Equal(ports(again), []string{"p1", "p3"}) {
		t.Errorf("ports: %v", ports(again))
	}
}

// TestTornJournal cuts the file at every byte: what is read is a state that once was, and only the whole file is trusted
// to delete by.
func TestTornJournal(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	states := []string{"[]"}
	for i := range 4 {
		apply(t, m, whole(fmt.Sprint("net:", i), port(t, fmt.Sprint("p", i), "n")))
		states = append(states, fmt.Sprint(ports(m)))
	}
	m.SetSynced()
	apply(t, m, whole("net:9", port(t, "p9", "n")))
	states = append(states, fmt.Sprint(ports(m)))
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, fileName))
	if err != nil {
		t.Fatal(err)
	}
	for _, tail := range [][]byte{nil, make([]byte, 100), {0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5}} {
		step := 1
		if tail != nil {
			step = 13
		}
		for cut := 0; cut <= len(raw); cut += step {
			torn := t.TempDir()
			if err := os.WriteFile(filepath.Join(torn, fileName), append(slices.Clone(raw[:cut]), tail...), 0o600); err != nil {
				t.Fatal(err)
			}
			m := open(t, torn)
			if got := fmt.Sprint(ports(m)); !slices.Contains(states, got) {
				t.Fatalf("cut at %d: %s", cut, got)
			}
			if m.Synced() && (cut != len(raw) || tail != nil) && !atRecord(raw, cut, tail) {
				t.Fatalf("cut at %d, tail of %d: synced", cut, len(tail))
			}
			apply(t, m, whole("net:x", port(t, "px", "n")))
			if err := m.Close(); err != nil {
				t.Fatal(err)
			}
			again := open(t, torn)
			if !slices.Contains(ports(again), "px") || again.Synced() != m.Synced() {
				t.Fatalf("cut at %d: after another start %v, synced %v", cut, ports(again), again.Synced())
			}
		}
	}
}

// atRecord tells whether a cut lost whole records only, which no file can show.
func atRecord(raw []byte, cut int, tail []byte) bool {
	if tail != nil {
		return false
	}
	at := int(headSize)
	for at < cut {
		at += recordHead + int(raw[at])<<24 + int(raw[at+1])<<16 + int(raw[at+2])<<8 + int(raw[at+3])
	}
	return at == cut
}

func TestHalfSentSetSurvivesAnyNumberOfStarts(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	apply(t, m, whole("net:a", port(t, "p1", "a")))
	m.SetSynced()
	apply(t, m, &wire.Frame{Set: "net:a", Begin: true, Put: []*wire.Document{port(t, "p2", "a")}})
	for range 3 {
		if err := m.journal.flush(); err != nil {
			t.Fatal(err)
		}
		m = open(t, dir)
		if !slices.Equal(ports(m), []string{"p1", "p2"}) || m.Synced() || held(m) != nil {
			t.Fatalf("ports %v, synced %v, held %v", ports(m), m.Synced(), held(m))
		}
		if err := m.compact(); err != nil {
			t.Fatal(err)
		}
	}
	// The session that began is over: what would have ended it is refused, and a new transfer does its work.
	if _, _, err := m.Apply(&wire.Frame{Set: "net:a", Complete: true, Hash: sum(port(t, "p2", "a"))}); !errors.Is(err, ErrHash) {
		t.Errorf("error %v", err)
	}
	apply(t, m, whole("net:a", port(t, "p2", "a")))
	if !slices.Equal(ports(m), []string{"p2"}) {
		t.Errorf("ports %v", ports(m))
	}
}

func TestCompactionInTheMiddleOfATransfer(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	p1, p2, p3 := port(t, "p1", "a"), port(t, "p2", "a"), port(t, "p3", "a")
	apply(t, m, whole("net:a", p1), &wire.Frame{Set: "net:a", Begin: true, Put: []*wire.Document{p2}})
	if err := m.compact(); err != nil {
		t.Fatal(err)
	}
	apply(t, m, &wire.Frame{Set: "net:a", Complete: true, Put: []*wire.Document{p3}, Hash: sum(p2, p3)})
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if !slices.Equal(ports(again), []string{"p2", "p3"}) || len(held(again)) != 1 {
		t.Errorf("ports %v, held %v", ports(again), held(again))
	}
}

func TestJournalIsMadeShort(t *testing.T) {
	dir := t.TempDir()
	m := open(t, dir)
	p := port(t, "p", "n")
	apply(t, m, whole("net:n", p))
	m.SetSynced()
	for i := range 12000 {
		next := port(t, "p", fmt.Sprint("network-with-a-rather-long-name-", i))
		apply(t, m, &wire.Frame{Set: "net:n", Put: []*wire.Document{next}, Hash: sum(next)})
		if i%100 == 0 {
			if err := m.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, fileName))
	if err != nil || st.Size() > 1<<20+100<<10 {
		t.Fatalf("%v, %v", st.Size(), err)
	}
	again := open(t, dir)
	if got, _ := again.Get(wire.KindPort, "p"); got.(*wire.Port).GetNetworkId() != "network-with-a-rather-long-name-11999" || !again.Synced() {
		t.Errorf("%v", got)
	}
}

func TestFullDiskStopsNothingAndIsNotTrusted(t *testing.T) {
	dir := t.TempDir()
	c := clock.NewManual(time.Unix(1, 0))
	m, _, err := Open(dir, c)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, m, whole("net:a", port(t, "p1", "a")))
	m.SetSynced()
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	// A folder in the new file's place and a refused write are what a full disk looks like.
	if err := os.Mkdir(filepath.Join(dir, fileName+".new"), 0o700); err != nil {
		t.Fatal(err)
	}
	keep := filepath.Join(dir, fileName+".new", "keep")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	m.journal.broke(errors.New("no space left on device"))
	apply(t, m, whole("net:b", port(t, "p2", "b")))
	first := m.Flush()
	if first == nil {
		t.Fatal("nobody hears of the full disk")
	}
	if err := m.Flush(); err == nil || err.Error() != first.Error() {
		t.Errorf("said first %v and then %v", first, err)
	}
	stale := open(t, dir)
	if stale.Synced() || !slices.Equal(ports(stale), []string{"p1"}) {
		t.Errorf("started from it: synced %v, ports %v", stale.Synced(), ports(stale))
	}
	if err := os.RemoveAll(filepath.Dir(keep)); err != nil {
		t.Fatal(err)
	}
	c.Advance(retryAfter)
	if err := m.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	again := open(t, dir)
	if !again.Synced() || !slices.Equal(ports(again), []string{"p1", "p2"}) {
		t.Errorf("after the disk had room: synced %v, ports %v", again.Synced(), ports(again))
	}
}

func BenchmarkOpen10000(b *testing.B) {
	dir := b.TempDir()
	m := open(b, dir)
	var ds []*wire.Document
	for i := range 10000 {
		ds = append(ds, port(b, fmt.Sprint("11111111-2222-3333-4444-5555", i), "net"))
	}
	apply(b, m, whole("net:n", ds...))
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if got := open(b, dir); len(ports(got)) != 10000 {
			b.Fatal(len(ports(got)))
		}
	}
}
