package assemble

import "testing"

// TestOwnEnrolment: an agent that is told its host takes no other host's enrolment.
func TestOwnEnrolment(t *testing.T) {
	for _, c := range []struct {
		name, enrolled, configured string
		fine                       bool
	}{
		{"nothing configured", "h1", "machine", true},
		{"the same", "h1", "h1", true},
		{"another host's", "h2", "h1", false},
		{"the machine's own name, configured otherwise", "machine", "h1", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := ownEnrolment(c.enrolled, c.configured, "machine"); (err == nil) != c.fine {
				t.Fatalf("got %v", err)
			}
		})
	}
}
