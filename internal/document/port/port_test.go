package port_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"isospin/internal/document/port"
	"isospin/internal/model"
	"isospin/internal/store"
	"isospin/internal/wire"
	"isospin/test/sessiontest"
)

// TestTrunksAreTold: the host of a port that carries a trunk learns which ports are inside, and by which tags.
func TestTrunksAreTold(t *testing.T) {
	s := sessiontest.New(t).Start(sessiontest.Options{})
	if err := s.Agents.Connected(context.Background(), "h1", sessiontest.Facts(1)); err != nil {
		t.Fatal(err)
	}
	p := s.Port(s.Network(model.TypeVXLAN, 11), func(p *model.Port) { p.HostID = "h1" })
	s.Write(func(ctx context.Context, tx store.WriteTx) error {
		now, err := s.Ports.GetForUpdate(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		now.TrunkID = "t"
		now.TrunkDetails = &model.TrunkDetails{TrunkID: "t", SubPorts: []model.SubPortDetail{{SubPort: model.SubPort{PortID: "inside", SegmentationType: "vlan", SegmentationID: 5}}}}
		return s.Ports.Update(ctx, tx, &now, -1)
	})
	s.Read(func(ctx context.Context, tx store.Tx) error {
		docs, err := port.New(s.Ports).Render(ctx, tx, []string{p.ID})
		if err != nil {
			return err
		}
		doc, ok := docs[p.ID].Body.(*wire.Port)
		if !ok || doc.TrunkId != "t" || len(doc.SubPorts) != 1 || !proto.Equal(doc.SubPorts[0], &wire.SubPort{PortId: "inside", SegmentationType: "vlan", SegmentationId: 5}) {
			t.Errorf("the document is %v", docs[p.ID].Body)
		}
		return nil
	})
}
