package clock

import (
	"testing"
	"time"
)

func TestManualWakesWhenItsTimeHasCome(t *testing.T) {
	m := NewManual(time.Unix(100, 0))
	soon, late := m.After(time.Second), m.After(time.Minute)
	if got := m.Waiting(); got != 2 {
		t.Fatalf("waiting %d, want 2", got)
	}
	m.Advance(time.Second)
	if at := <-soon; !at.Equal(time.Unix(101, 0)) {
		t.Errorf("woken at %v", at)
	}
	select {
	case at := <-late:
		t.Errorf("the late one was woken at %v", at)
	default:
	}
	if now := <-m.After(0); !now.Equal(m.Now()) {
		t.Errorf("After(0) sent %v at %v", now, m.Now())
	}
}
