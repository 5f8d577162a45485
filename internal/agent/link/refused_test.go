package link

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// TestRefused: who is refused, or put out by another agent with his enrolment, waits for longest; a server that is away
// is asked again soon.
func TestRefused(t *testing.T) {
	for code, want := range map[codes.Code]bool{
		codes.PermissionDenied: true, codes.Unauthenticated: true, codes.FailedPrecondition: true, codes.Aborted: true,
		codes.Unavailable: false, codes.Canceled: false, codes.ResourceExhausted: false,
	} {
		if got := refused(status.Error(code, "no")); got != want {
			t.Errorf("%v: %v", code, got)
		}
	}
	if refused(errors.New("the server closed the session")) {
		t.Error("a closed session is no refusal")
	}
}
