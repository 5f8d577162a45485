package agent

import (
	"testing"
	"time"
)

func TestNow(t *testing.T) {
	_ = time.Now()
	time.Sleep(1)
	t.Skip("no root")
}
