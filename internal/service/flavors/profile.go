package flavors

import (
	"context"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// profiles is the controller of service profiles.
type profiles struct{ *Plugin }

// Create makes a profile of a driver that a provider has, or of metainfo alone.
func (p profiles) Create(ctx context.Context, tx store.WriteTx, in rest.Input[model.ServiceProfile]) (model.ServiceProfile, error) {
	s := in.Value
	s.ID = p.IDs.UUID()
	if err := p.judge(&s); err != nil {
		return s, err
	}
	return s, p.Profiles.Insert(ctx, tx, &s)
}

// maxMetainfo is how many characters metainfo may have.
const maxMetainfo = 4096

// judge checks a profile as it is to be, and brings its metainfo into the form in which it is kept.
func (p profiles) judge(s *model.ServiceProfile) error {
	if err := truth(s.Enabled); err != nil {
		return err
	}
	info, err := plainText(s.Metainfo)
	if err != nil {
		return err
	}
	if s.Metainfo = info; s.Driver != "" {
		if _, ok := p.Providers.ByDriver(s.Driver); !ok {
			return fault.ServiceProfileDriverNotFound(s.Driver)
		}
		return nil
	}
	if string(info) == `""` || string(info) == "null" {
		return fault.ServiceProfileEmpty()
	}
	return nil
}

// plainText makes a text of metainfo: numbers and truths as they are written, null as it is.
func plainText(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return json.RawMessage(`""`), nil
	}
	switch raw[0] {
	case '{', '[':
		return nil, fault.BadInput("metainfo is a text.")
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("decode metainfo: %w", err)
		}
		if utf8.RuneCountInString(text) > maxMetainfo {
			return nil, fault.BadInput("metainfo has at most %d characters.", maxMetainfo)
		}
		return raw, nil
	case 'n':
		return raw, nil
	}
	if len(raw) > maxMetainfo {
		return nil, fault.BadInput("metainfo has at most %d characters.", maxMetainfo)
	}
	return json.RawMessage(`"` + string(raw) + `"`), nil
}

// idle refuses to touch a profile that a flavour offers.
func (p profiles) idle(ctx context.Context, tx store.Tx, id string) error {
	n, err := p.Offers.Count(ctx, tx, store.Eq("service_profile_id", id))
	if err == nil && n > 0 {
		err = fault.ServiceProfileInUse(id)
	}
	return err
}

// Update changes a profile that no flavour offers.
func (p profiles) Update(ctx context.Context, tx store.WriteTx, cur model.ServiceProfile, in rest.Input[model.ServiceProfile]) (model.ServiceProfile, error) {
	s := cur
	if err := in.Apply(&s); err != nil {
		return s, err
	}
	if err := p.idle(ctx, tx, s.ID); err != nil {
		return s, err
	}
	if err := p.judge(&s); err != nil {
		return s, err
	}
	return s, p.Profiles.Update(ctx, tx, &s, -1)
}

// Delete removes a profile that no flavour offers.
func (p profiles) Delete(ctx context.Context, tx store.WriteTx, cur model.ServiceProfile) error {
	if err := p.idle(ctx, tx, cur.ID); err != nil {
		return err
	}
	return p.Profiles.Delete(ctx, tx, cur.ID)
}
