package conformance

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"isospin/internal/model"
	"isospin/internal/service/ml2"
)

// switchDir is the variable that names the folder by which a test holds the switch driver of its servers.
const switchDir = "ISOSPIN_TEST_SWITCH"

// drivers are the mechanism drivers of servers that tests start as processes: a switch that carries VXLAN to racks, and
// what a rack's hosts run, which knows VLANs only.
func drivers() []ml2.MechanismDriver {
	dir := os.Getenv(switchDir)
	if dir == "" {
		return []ml2.MechanismDriver{stage{}}
	}
	return []ml2.MechanismDriver{fabric{dir}, rack{}}
}

// stage binds ports to hosts whose name begins so, which need no agent.
type stage struct{}

func (stage) Name() string { return "stage" }

func (stage) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	if !strings.HasPrefix(r.Host.Name, "stage") {
		return ml2.Binding{}, false
	}
	return ml2.Binding{Segment: r.Segments[0], VIFType: model.VIFOVS, VIFDetails: map[string]any{"bridge_name": "br-int"}}, true
}

func inRack(r ml2.BindRequest) bool { return strings.HasPrefix(r.Host.Name, "rack") }

// fabric tells of each question in the file asked, and answers when there is no file hold.
type fabric struct{ dir string }

func (fabric) Name() string { return "fabric" }

func (fabric) Bind(ml2.BindRequest) (ml2.Binding, bool) { return ml2.Binding{}, false }

func (fabric) Claims(r ml2.BindRequest) bool { return inRack(r) && r.Level == 0 }

func (f fabric) BindRemote(ctx context.Context, r ml2.BindRequest) (ml2.Binding, bool, error) {
	if err := f.note("asked", r.Port.ID); err != nil {
		return ml2.Binding{}, false, err
	}
	for {
		_, err := os.Stat(filepath.Join(f.dir, "hold"))
		if errors.Is(err, fs.ErrNotExist) {
			return ml2.Binding{Segment: r.Segments[0], Next: []model.Segment{{NetworkType: model.TypeVLAN, PhysicalNetwork: "physnet1"}}}, true, nil
		}
		select {
		case <-ctx.Done():
			return ml2.Binding{}, false, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (f fabric) Postcommit(_ context.Context, p model.Port, levels []model.BindingLevel) error {
	if len(levels) == 0 {
		return f.note("unbound", p.ID)
	}
	return f.note("bound", p.ID)
}

func (f fabric) note(file, line string) error {
	w, err := os.OpenFile(filepath.Join(f.dir, file), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = w.WriteString(line + "\n")
	return errors.Join(err, w.Close())
}

// rack is the level below.
type rack struct{}

func (rack) Name() string { return "rack" }

func (rack) Bind(r ml2.BindRequest) (ml2.Binding, bool) {
	if !inRack(r) || r.Level != 1 || r.Segments[0].NetworkType != model.TypeVLAN {
		return ml2.Binding{}, false
	}
	return ml2.Binding{Segment: r.Segments[0], VIFType: model.VIFOVS, VIFDetails: map[string]any{}}, true
}

var _ ml2.Remote = fabric{}
