// Agent things.
package agent

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/google/uuid"
	"github.com/stranger/thing"

	"isospin/internal/rest"
)

type port struct {
	done chan struct{}
	ctx  context.Context // the caller's, who waits
}

// portHelper says nothing.
type portHelper struct{ x thing.X }

// TypeManager is Neutron's.
type TypeManager struct {
	ctx context.Context
}

type basement struct{ r rest.R }

var (
	_ = port{}
	_ = portHelper{}
	_ = basement{}
)

func now() any {
	_ = time.Now()
	_ = rand.Int()
	_ = uuid.NewString()
	slog.Info("x")
	return context.TODO()
}

// init does what nobody asked for.
func init() { now() }
