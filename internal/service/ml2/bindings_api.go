package ml2

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"isospin/internal/fault"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// bindingsAPI answers the requests below /ports/{id}/bindings: bindings have no rows of their own, and their key is the host.
type bindingsAPI struct{ *Plugin }

// Handle answers one request.
func (p bindingsAPI) Handle(ctx context.Context, c *rest.Call) error {
	switch {
	case len(c.Rest) == 0 && c.Method == http.MethodGet:
		return p.list(ctx, c)
	case len(c.Rest) == 0 && c.Method == http.MethodPost:
		return p.add(ctx, c)
	case len(c.Rest) == 0 && (c.Method == http.MethodPut || c.Method == http.MethodDelete):
		return fault.PortBindingNotFound(rest.Printable(c.Parent), "None")
	case len(c.Rest) == 0:
		return c.NotAllowed()
	case len(c.Rest) == 2 && c.Rest[1] == "activate":
		if c.Method != http.MethodPut {
			return c.NotAllowed()
		}
		return p.activate(ctx, c)
	case len(c.Rest) > 1:
		return c.Nothing()
	}
	switch c.Method {
	case http.MethodGet:
		return p.show(ctx, c)
	case http.MethodPut:
		return p.change(ctx, c)
	case http.MethodDelete:
		return p.drop(ctx, c)
	}
	return c.NotAllowed()
}

// all are a port's bindings, the one in force first.
func (p bindingsAPI) all(ctx context.Context, tx store.Tx, id string) ([]model.PortBinding, error) {
	port, err := p.Ports.Get(ctx, tx, id)
	if err != nil {
		if store.IsNotFound(err) {
			err = fault.PortNotFound(id)
		}
		return nil, err
	}
	var out []model.PortBinding
	if b, ok := port.Binding(); ok {
		out = append(out, b)
	}
	return append(out, port.Bindings...), nil
}

// read reads the port's bindings that the caller may see; who may not see any finds none.
func (p bindingsAPI) read(ctx context.Context, c *rest.Call) (out []model.PortBinding, err error) {
	err = c.Read(ctx, func(tx store.Tx) error {
		out = nil
		if err := c.ParentSeen(ctx, tx); err != nil || !c.Sees(ctx, "get_port_binding") {
			return err
		}
		out, err = p.all(ctx, tx, c.Parent)
		return err
	})
	return out, err
}

func (p bindingsAPI) list(ctx context.Context, c *rest.Call) error {
	filters, err := c.Filters()
	if err != nil {
		return err
	}
	all, err := p.read(ctx, c)
	if err != nil {
		return err
	}
	out := []map[string]any{}
	for _, b := range all {
		shown, err := cut(c, b)
		if err != nil {
			return err
		}
		if fits(b, filters) {
			out = append(out, shown)
		}
	}
	return c.Answer(http.StatusOK, map[string]any{"bindings": out})
}

func fits(b model.PortBinding, filters url.Values) bool {
	for name, values := range filters {
		have := map[string]string{"host": b.Host, "status": b.Status, "vif_type": b.VIFType, "vnic_type": b.VNICType}[name]
		if !slices.Contains(values, have) {
			return false
		}
	}
	return true
}

// cut leaves the attributes of a binding that the request asks for.
func cut(c *rest.Call, b model.PortBinding) (map[string]any, error) {
	all := map[string]any{"host": b.Host, "vif_type": b.VIFType, "vif_details": b.VIFDetails, "vnic_type": b.VNICType, "profile": b.Profile, "status": b.Status}
	fields, err := c.Fields()
	if err != nil || len(fields) == 0 {
		return all, err
	}
	for name := range all {
		if !slices.Contains(fields, name) {
			delete(all, name)
		}
	}
	return all, nil
}

func (p bindingsAPI) show(ctx context.Context, c *rest.Call) error {
	all, err := p.read(ctx, c)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(b model.PortBinding) bool { return b.Host == c.Rest[0] })
	if i < 0 {
		return fault.PortBindingNotFound(rest.Printable(c.Parent), rest.Printable(c.Rest[0]))
	}
	shown, err := cut(c, all[i])
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"binding": shown})
}

// write runs a change of the bindings of a port that the caller sees, if the rule lets it.
func (p bindingsAPI) write(ctx context.Context, c *rest.Call, rule string, fn func(tx store.WriteTx) error) error {
	return c.Write(ctx, func(tx store.WriteTx) error {
		if err := c.ParentSeen(ctx, tx); err != nil {
			return err
		}
		if err := c.May(ctx, rule, nil); err != nil {
			return err
		}
		if len(c.Rest) > 0 && !rest.Plain(c.Rest[0]) {
			return fault.PortBindingNotFound(c.Parent, rest.Printable(c.Rest[0]))
		}
		return fn(tx)
	})
}

// into puts checked attributes into a binding.
func into(b *model.PortBinding, given map[string]json.RawMessage) error {
	raw, err := json.Marshal(given)
	if err != nil {
		return fmt.Errorf("encode a binding: %w", err)
	}
	if _, ok := given["profile"]; ok {
		b.Profile = nil
	}
	if err := json.Unmarshal(raw, b); err != nil {
		return fmt.Errorf("decode a binding: %w", err)
	}
	if b.Profile == nil {
		b.Profile = map[string]any{}
	}
	return nil
}

func (p bindingsAPI) add(ctx context.Context, c *rest.Call) error {
	given, invalid := c.Checked(true)
	var b model.PortBinding
	err := p.write(ctx, c, "create_port_binding", func(tx store.WriteTx) (err error) {
		if invalid != nil {
			return invalid
		}
		b = model.PortBinding{}
		if err := into(&b, given); err != nil {
			return err
		}
		b, err = p.AddBinding(ctx, tx, c.Parent, b)
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusCreated, map[string]any{"binding": b})
}

func (p bindingsAPI) change(ctx context.Context, c *rest.Call) error {
	given, invalid := c.Checked(false)
	var b model.PortBinding
	err := p.write(ctx, c, "create_port_binding", func(tx store.WriteTx) (err error) { // a change has no rule of its own
		if invalid != nil {
			return invalid
		}
		b, err = p.ChangeBinding(ctx, tx, c.Parent, c.Rest[0], func(b *model.PortBinding) error { return into(b, given) })
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, map[string]any{"binding": b})
}

func (p bindingsAPI) activate(ctx context.Context, c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	var b model.PortBinding
	err := p.write(ctx, c, "activate", func(tx store.WriteTx) (err error) {
		b, err = p.ActivateBinding(ctx, tx, c.Parent, c.Rest[0])
		return err
	})
	if err != nil {
		return err
	}
	return c.Answer(http.StatusOK, b)
}

func (p bindingsAPI) drop(ctx context.Context, c *rest.Call) error {
	if err := c.NoBody(); err != nil {
		return err
	}
	err := p.write(ctx, c, "delete_port_binding", func(tx store.WriteTx) error { return p.DropBinding(ctx, tx, c.Parent, c.Rest[0]) })
	if err != nil {
		return err
	}
	return c.Answer(http.StatusNoContent, nil)
}

var _ rest.Handler = bindingsAPI{}
