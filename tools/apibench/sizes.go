package main

import (
	"fmt"
	"net/http"
)

// sizes measures lists as the cloud grows: at each of the sizes, in ports, the whole list and a page of 1,000, and once the
// list of 500 security groups with their rules.
func (b *bench) sizes(sizes []int) {
	network, _, err := b.make("networks", "network", map[string]any{"name": "sizes"})
	if err == nil {
		_, _, err = b.make("subnets", "subnet", map[string]any{"network_id": network, "ip_version": 4, "cidr": "10.0.0.0/8"})
	}
	if err != nil {
		fmt.Fprintln(b.trouble, "sizes:", err)
		b.failed++
		return
	}
	have := 0
	for _, size := range sizes {
		const batch = 100
		b.phase(fmt.Sprintf("port-create-bulk-to-%d", size), (size-have)/batch, b.inFlight, func(int) (int, error) {
			items := make([]map[string]any, batch)
			for i := range items {
				items[i] = map[string]any{"network_id": network, "name": "sizes", "project_id": b.project}
			}
			return b.call(http.MethodPost, "/v2.0/ports", map[string]any{"ports": items}, nil)
		})
		have = size
		b.phase(fmt.Sprintf("port-list-of-%d", size), b.lists, 1, func(int) (int, error) { return b.call(http.MethodGet, "/v2.0/ports", nil, nil) })
		b.phase(fmt.Sprintf("port-page1000-of-%d", size), b.lists, 1, func(int) (int, error) {
			return b.call(http.MethodGet, "/v2.0/ports?limit=1000", nil, nil)
		})
		b.phase(fmt.Sprintf("port-create-at-%d", size), 500, 1, func(int) (int, error) {
			_, n, err := b.make("ports", "port", map[string]any{"network_id": network})
			return n, err
		})
	}
	b.phase("group-create", 500, b.inFlight, func(i int) (int, error) {
		_, n, err := b.make("security-groups", "security_group", map[string]any{"name": fmt.Sprintf("sizes-%d", i)})
		return n, err
	})
	b.phase("group-list-of-500", b.lists, 1, func(int) (int, error) {
		n, err := b.call(http.MethodGet, "/v2.0/security-groups", nil, nil)
		return n, err
	})
}
