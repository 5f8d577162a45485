package fault

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// statuses is what rest (errors.go) makes of the kinds.
func statuses() map[string]string {
	return map[string]string{
		"Internal": "500", "Invalid": "400", "Unauthenticated": "401", "Forbidden": "403", "NotFound": "404",
		"MethodNotAllowed": "405", "Conflict": "409", "OverQuota": "409", "Precondition": "412", "TooLarge": "413",
		"NotImplemented": "501", "Unavailable": "503",
	}
}

// mended are the types whose status in Neutron is itself a fault that Isospin does not copy.
func mended() map[string]string {
	return map[string]string{
		"SubnetAllocationError": "409", // Neutron: 500 for a pool that is merely full
		"PortBindingError":      "409", // Neutron: 500 for a host that cannot have the port
		// Neutron: 500 for a range that ends before it begins or that the type does not carry.
		"NetworkVlanRangeError": "400", "NetworkTunnelRangeError": "400",
		// Neutron: 500 for gateways that the request names and the router cannot have, or has not.
		"UnableToMatchGateways": "404", "UnableToAddExtraGateways": "409", "UnableToRemoveGateways": "409",
	}
}

// TestCatalogueStatuses compares the catalogue's kinds with the statuses that Neutron answers.
func TestCatalogueStatuses(t *testing.T) {
	known := map[string]string{}
	for _, l := range lines(t, "testdata/statuses.txt") {
		name, status, _ := strings.Cut(l, " ")
		known[name] = status
	}
	entry := regexp.MustCompile(`^(\w+) (\w+) "`)
	count := 0
	for _, l := range lines(t, "catalogue.txt") {
		m := entry.FindStringSubmatch(l)
		if m == nil {
			t.Errorf("strange line: %s", l)
			continue
		}
		count++
		want := known[m[1]]
		if s, ok := mended()[m[1]]; ok {
			want = s
		}
		if want == "" {
			t.Errorf("%s is no type of Neutron's: testdata/statuses.txt does not have it", m[1])
		}
		if got := statuses()[m[2]]; got != want {
			t.Errorf("%s: kind %s answers %s, Neutron %s", m[1], m[2], got, want)
		}
	}
	if count != len(known) {
		t.Errorf("the catalogue has %d faults, testdata/statuses.txt %d", count, len(known))
	}
}

// lines reads a file without its remarks and empty lines.
func lines(t *testing.T, name string) []string {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	var all []string
	for s := bufio.NewScanner(f); s.Scan(); {
		if l := strings.TrimSpace(s.Text()); l != "" && !strings.HasPrefix(l, "#") {
			all = append(all, l)
		}
	}
	return all
}

func TestConstructors(t *testing.T) {
	for _, c := range []struct {
		got     *Fault
		kind    Kind
		name    string
		message string
	}{
		{PortNotFound("p1"), NotFound, "PortNotFound", "Port p1 could not be found."},
		{NotFoundFault(), NotFound, "NotFound", "What the request names does not exist."},
		{VlanIdInUse(7, "physnet1"), Conflict, "VlanIdInUse", "VLAN 7 of physical network physnet1 is in use."},
		{OverQuotaFault([]string{"port"}), OverQuota, "OverQuota", "Quota exceeded for resources: [port]."},
		{BadInput("%s is odd", "x"), Invalid, "InvalidInput", "Invalid input for operation: x is odd"},
	} {
		if c.got.Kind != c.kind || c.got.Name != c.name || c.got.Message != c.message || c.got.Cause != nil {
			t.Errorf("got %+v, want %s (%d): %s", c.got, c.name, c.kind, c.message)
		}
	}
}

func TestOf(t *testing.T) {
	if Of(nil) != nil {
		t.Error("a fault came out of no error")
	}
	inner := PortNotFound("p1").Because(io.ErrUnexpectedEOF)
	wrapped := fmt.Errorf("show port: %w", inner)
	if got := Of(wrapped); got != inner {
		t.Errorf("got %v", got)
	}
	if !IsNotFound(wrapped) || IsConflict(wrapped) || !Named(wrapped, "PortNotFound") || !errors.Is(wrapped, io.ErrUnexpectedEOF) {
		t.Errorf("the chain of %v is not seen through", wrapped)
	}
	unknown := Of(io.EOF)
	if unknown.Kind != Internal || !errors.Is(unknown, io.EOF) || strings.Contains(unknown.Message, io.EOF.Error()) {
		t.Errorf("an unknown error became %+v", unknown)
	}
}
