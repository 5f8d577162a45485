package qos

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"isospin/internal/ident"
	"isospin/internal/model"
	"isospin/internal/rest"
	"isospin/internal/store"
)

// PortPages adds to ports the policy of their network and what Placement must set aside for them. Both are null in a stored body:
// ports without a policy are left as they are.
type PortPages struct{}

var _ rest.Splicer = PortPages{}

// most ids that a statement is narrowed down to; longer pages read all rows that count.
const narrow = 500

// Splice reads which of the ports' networks have policies, and for those who may see requests the guarantees of policies and the
// segments of networks: one statement where there are no policies, three at the most.
func (PortPages) Splice(ctx context.Context, tx store.Tx, page *rest.Page) error {
	asked := page.Wants("resource_request")
	if !page.Wants("qos_network_policy_id") && !asked {
		return nil
	}
	networks, err := networkPolicies(ctx, tx, page)
	if err != nil {
		return err
	}
	var inForce []bearer
	for i := range page.Rows {
		of := ""
		if len(networks) > 0 {
			of = networks[member(page, i, "network_id")]
		}
		if of != "" {
			page.Replace(i, "qos_network_policy_id", strconv.AppendQuote(nil, of))
		}
		if !asked {
			continue
		}
		// Few ports have a policy. The member stands near the body's end, behind all texts of users': most ports are told by a glance.
		if own := bytes.LastIndex(page.Rows[i].Body, []byte(`"qos_policy_id":`)); own >= 0 && page.Rows[i].Body[own+len(`"qos_policy_id":`)] == '"' {
			if id := member(page, i, "qos_policy_id"); id != "" {
				of = id
			}
		}
		if of != "" {
			inForce = append(inForce, bearer{row: i, policy: of, network: member(page, i, "network_id"), vnic: member(page, i, "binding:vnic_type")})
		}
	}
	if len(inForce) == 0 {
		return nil
	}
	return requests(ctx, tx, page, inForce)
}

// bearer is a port on a page with the policy in force for it.
type bearer struct {
	row                   int
	policy, network, vnic string
}

// member is a text of row i.
func member(page *rest.Page, i int, name string) string {
	var s string
	if raw, ok := page.Member(i, name); !ok || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// distinct are the different values of a list, or nil where there are too many to name.
func distinct(n int, of func(i int) string) []string {
	if n > narrow {
		return nil
	}
	seen := map[string]bool{}
	var out []string
	for i := range n {
		if v := of(i); !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// networkPolicies are the policies of the page's networks. One statement.
func networkPolicies(ctx context.Context, tx store.Tx, page *rest.Page) (map[string]string, error) {
	where := store.Expr("qos_policy_id IS NOT NULL")
	if ids := distinct(len(page.Rows), func(i int) string { return member(page, i, "network_id") }); ids != nil {
		where = store.And(where, store.In("id", ids))
	}
	out := map[string]string{}
	err := store.Each(ctx, tx, store.Q("SELECT id, qos_policy_id FROM networks WHERE "+where.SQL, where.Args...), func(scan func(...any) error) error {
		var network, policy string
		err := scan(&network, &policy)
		out[network] = policy
		return err
	})
	return out, err
}

// requests writes the requests of ports whose policies guarantee something. Two statements, one where none does.
func requests(ctx context.Context, tx store.Tx, page *rest.Page, ports []bearer) error {
	where := store.In("rule_type", []string{model.QoSMinimumBandwidth, model.QoSMinimumPacketRate})
	if ids := distinct(len(ports), func(i int) string { return ports[i].policy }); ids != nil {
		where = store.And(where, store.In("qos_policy_id", ids))
	}
	all, err := readRules(ctx, tx, where)
	if err != nil || len(all) == 0 {
		return err
	}
	rules := map[string][]model.QoSRule{}
	for _, r := range all {
		rules[r.PolicyID] = append(rules[r.PolicyID], r)
	}
	physnets, err := physicalNetworks(ctx, tx, ports)
	if err != nil {
		return err
	}
	for _, port := range ports {
		r, err := request(page.Rows[port.row].ID, port.vnic, physnets[port.network], rules[port.policy])
		if err != nil {
			return err
		}
		if r == nil {
			continue
		}
		raw, err := json.Marshal(r)
		if err != nil {
			return fmt.Errorf("encode a resource request: %w", err)
		}
		page.Replace(port.row, "resource_request", raw)
	}
	return nil
}

// physicalNetworks are the physical networks of the networks' first segments. One statement.
func physicalNetworks(ctx context.Context, tx store.Tx, ports []bearer) (map[string]string, error) {
	where := store.Expr("is_dynamic = 0")
	if ids := distinct(len(ports), func(i int) string { return ports[i].network }); ids != nil {
		where = store.And(where, store.In("network_id", ids))
	} else {
		where = store.And(where, store.Expr("physical_network <> ''"))
	}
	out := map[string]string{}
	err := store.Each(ctx, tx, store.Q("SELECT network_id, physical_network FROM segments WHERE "+where.SQL+" ORDER BY network_id, segment_index, id", where.Args...),
		func(scan func(...any) error) error {
			var network, physnet string
			err := scan(&network, &physnet)
			if _, first := out[network]; !first {
				out[network] = physnet
			}
			return err
		})
	return out, err
}

// resourceRequest is what Placement must set aside for a port, as Nova reads it (the extension port-resource-request-groups).
type resourceRequest struct {
	Groups  []group  `json:"request_groups"`
	Subtree []string `json:"same_subtree"`
}

type group struct {
	ID        string           `json:"id"`
	Required  []string         `json:"required"`
	Resources map[string]int64 `json:"resources"`
}

// request makes a port's request, nil where there is nothing to set aside: of bandwidth on physical networks alone
// (neutron/services/qos/qos_plugin.py). A group's identifier follows from port and rules (neutron-lib placement/utils.py).
func request(port, vnic, physnet string, rules []model.QoSRule) (*resourceRequest, error) {
	bandwidth := group{Required: []string{trait("PHYSNET_" + physnet), trait("VNIC_TYPE_" + vnic)}, Resources: map[string]int64{}}
	packets := group{Required: []string{trait("VNIC_TYPE_" + vnic)}, Resources: map[string]int64{}}
	var ofBandwidth, ofPackets []string
	for i := range rules {
		switch r := &rules[i]; {
		case r.Type == model.QoSMinimumPacketRate:
			packets.Resources[packetClass(r.Direction)] = *r.MinKpps
			ofPackets = append(ofPackets, r.ID)
		case r.Type == model.QoSMinimumBandwidth && physnet != "":
			bandwidth.Resources[bandwidthClass(r.Direction)] = *r.MinKbps
			ofBandwidth = append(ofBandwidth, r.ID)
		}
	}
	var out *resourceRequest
	for _, g := range []struct {
		group
		rules []string
	}{{bandwidth, ofBandwidth}, {packets, ofPackets}} {
		if len(g.rules) == 0 {
			continue
		}
		var err error
		if g.ID, err = ident.Derived(port, strings.Join(g.rules, ":")); err != nil {
			return nil, err
		}
		if out == nil {
			out = &resourceRequest{}
		}
		out.Groups, out.Subtree = append(out.Groups, g.group), append(out.Subtree, g.ID)
	}
	return out, nil
}

func bandwidthClass(direction string) string {
	if direction == model.DirectionIngress {
		return "NET_BW_IGR_KILOBIT_PER_SEC"
	}
	return "NET_BW_EGR_KILOBIT_PER_SEC"
}

func packetClass(direction string) string {
	switch direction {
	case model.DirectionIngress:
		return "NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC"
	case model.DirectionAny:
		return "NET_PACKET_RATE_KILOPACKET_PER_SEC"
	}
	return "NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC"
}

// trait is the custom trait of a name: capital letters, digits, and underscores for all else (os-traits).
func trait(name string) string {
	odd := regexp.MustCompile(`[^0-9A-Za-z]+`)
	return "CUSTOM_" + strings.ToUpper(odd.ReplaceAllString(name, "_"))
}
