// Package tunnel is the type driver of overlay networks, one value a type: VXLAN, GRE and Geneve differ in their ids' range and in
// what the encapsulation costs. It also keeps where tunnels to hosts end.
package tunnel

import (
	"context"
	"errors"

	"isospin/internal/fault"
	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/service/ml2"
	"isospin/internal/service/ml2/typedriver/claim"
	"isospin/internal/store"
)

// Config is the type's section and what bears on the MTU.
type Config struct {
	Type   string
	MaxID  int64
	Ranges []claim.Range // for project networks
	// Overhead is what the encapsulation adds to a packet, in bytes, without the outer IP header.
	Overhead int64
	// IPHeader is the outer IP header: 20 or 40 bytes (overlay_ip_version).
	IPHeader int64
	PathMTU  int64 // path_mtu; 0: global_physnet_mtu
	MTUAll   int64 // global_physnet_mtu
	IDs      ident.Source
}

// Overheads in bytes (neutron-lib's constants; Geneve's is the configured maximum of its header).
const (
	OverheadVXLAN = 30
	OverheadGRE   = 22
)

// The largest ids.
const (
	MaxVNI    = 1<<24 - 1
	MaxGREKey = 1<<32 - 1
)

// Driver is the type driver.
type Driver struct{ Config }

// Type is the network type.
func (d Driver) Type() string { return d.Config.Type }

func (d Driver) pool() claim.Pools {
	return claim.Pools{Type: d.Config.Type, Ranges: map[string][]claim.Range{"": d.Ranges}, IDs: d.IDs}
}

// Configured are the ranges of the configuration.
func (d Driver) Configured() map[string][]ml2.IDRange { return d.pool().Configured() }

// Bounds are the ids that the header can carry.
func (d Driver) Bounds() (least, most int64) { return 1, d.MaxID }

// ChangeRanges changes administrators' ranges.
func (d Driver) ChangeRanges(ctx context.Context, tx store.WriteTx, physicalNetwork string, f func([]ml2.IDRange) ([]ml2.IDRange, error)) error {
	return d.pool().Change(ctx, tx, physicalNetwork, f)
}

// Prepare brings the pool in line with the configuration.
func (d Driver) Prepare(ctx context.Context, tx store.WriteTx) error {
	return d.pool().Prepare(ctx, tx)
}

// Validate refuses physical networks and ids that the header cannot carry.
func (d Driver) Validate(want model.Segment) error {
	if want.PhysicalNetwork != "" {
		return fault.BadInput("provider:physical_network specified for %s network.", d.Config.Type)
	}
	if want.SegmentationID < 0 || want.SegmentationID > d.MaxID {
		return fault.BadInput("segmentation_id out of range (1 through %d).", d.MaxID)
	}
	return nil
}

// Reserve claims the id asked for, or a free one.
func (d Driver) Reserve(ctx context.Context, tx store.WriteTx, want model.Segment) (model.Segment, error) {
	if want.SegmentationID == 0 {
		_, id, err := d.pool().Any(ctx, tx, want.ID, want.ProjectID, "")
		want.SegmentationID = id
		return want, err
	}
	err := d.pool().Take(ctx, tx, want.ID, "", want.SegmentationID)
	if errors.Is(err, claim.ErrTaken) {
		err = fault.TunnelIdInUse(want.SegmentationID)
	}
	return want, err
}

// Release ends the claim.
func (d Driver) Release(ctx context.Context, tx store.WriteTx, s model.Segment) error {
	return d.pool().Release(ctx, tx, s)
}

// MTU is what is left of the path's MTU inside the tunnel.
func (d Driver) MTU(string) int64 {
	path := d.MTUAll
	if d.PathMTU > 0 && (path == 0 || d.PathMTU < path) {
		path = d.PathMTU
	}
	if path == 0 {
		return 0
	}
	return max(0, path-d.Overhead-d.IPHeader)
}

var _ ml2.RangedDriver = Driver{}

// Endpoint is where tunnels of a type to a host end.
type Endpoint struct{ Host, Type, IP string }

// SetEndpoints replaces what is known of a host's tunnel endpoints; an address that another host had moves, since
// a host that was set up anew keeps its address and not its name. It tells whether anything changed.
func SetEndpoints(ctx context.Context, tx store.WriteTx, host, ip string, types []string) (changed bool, err error) {
	have, err := Endpoints(ctx, tx, store.Eq("host", host))
	if err != nil {
		return false, err
	}
	want := map[Endpoint]bool{}
	if ip != "" {
		for _, t := range types {
			want[Endpoint{Host: host, Type: t, IP: ip}] = true
		}
	}
	for _, e := range have {
		if want[e] {
			delete(want, e)
			continue
		}
		changed = true
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM tunnel_endpoints WHERE tunnel_type = ? AND host = ?", e.Type, e.Host)); err != nil {
			return changed, err
		}
	}
	for e := range want {
		changed = true
		if _, err := tx.Exec(ctx, store.Q("DELETE FROM tunnel_endpoints WHERE tunnel_type = ? AND ip_address = ?", e.Type, e.IP)); err != nil {
			return changed, err
		}
		if _, err := tx.Exec(ctx, store.Q("INSERT INTO tunnel_endpoints (host, tunnel_type, ip_address) VALUES (?, ?, ?)", e.Host, e.Type, e.IP)); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// Endpoints reads tunnel endpoints. One statement.
func Endpoints(ctx context.Context, tx store.Tx, where store.Cond) ([]Endpoint, error) {
	var out []Endpoint
	sql := "SELECT host, tunnel_type, ip_address FROM tunnel_endpoints"
	if !where.True() {
		sql += " WHERE " + where.SQL
	}
	err := store.Each(ctx, tx, store.Q(sql+" ORDER BY host, tunnel_type", where.Args...), func(scan func(...any) error) error {
		var e Endpoint
		err := scan(&e.Host, &e.Type, &e.IP)
		out = append(out, e)
		return err
	})
	return out, err
}
