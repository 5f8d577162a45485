package l3

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// zonesOf shows the availability zones of the hosts that routers were given to. One statement.
func zonesOf(ctx context.Context, tx store.Tx, page *rest.Page) error {
	ids := page.IDs()
	where := store.Eq("a.agent_type", model.AgentL3)
	if len(ids) <= 500 {
		where = store.And(where, store.In("h.router_id", ids))
	}
	of := map[string][]string{}
	err := store.Each(ctx, tx, store.Q("SELECT DISTINCT h.router_id, "+tx.Dialect().JSONText("a.body", "availability_zone")+
		" FROM router_hosts h JOIN agents a ON a.host = h.host WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var router string
		var zone *string
		err := scan(&router, &zone)
		if zone != nil && *zone != "" {
			of[router] = append(of[router], *zone)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, id := range ids {
		zones := of[id]
		if len(zones) == 0 {
			continue // the body says []
		}
		slices.Sort(zones)
		raw, err := json.Marshal(slices.Compact(zones))
		if err != nil {
			return fmt.Errorf("encode zones: %w", err)
		}
		page.Replace(i, "availability_zones", raw)
	}
	return nil
}
