package ml2

import (
	"encoding/json"
	"fmt"

	"isospin/internal/model"
)

// bindingsOf writes the bindings that are not in force; "" without any.
func bindingsOf(p *model.Port) any {
	if len(p.Bindings) == 0 {
		return ""
	}
	raw, err := json.Marshal(p.Bindings)
	if err != nil {
		return "" // what came out of JSON goes into it
	}
	return string(raw)
}

func loadBindings(p *model.Port, raw any) error {
	var text []byte
	switch v := raw.(type) {
	case string:
		text = []byte(v)
	case []byte:
		text = v
	default:
		return fmt.Errorf("ml2: bindings is a %T", raw)
	}
	if len(text) == 0 {
		return nil
	}
	if err := json.Unmarshal(text, &p.Bindings); err != nil {
		return fmt.Errorf("ml2: bindings of port %s: %w", p.ID, err)
	}
	return nil
}
