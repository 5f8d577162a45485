package model

import "encoding/json"

// NetworkSegment is a segment as a resource of the API: what Segment says, with a name and the standard attributes.
type NetworkSegment struct {
	ID              string  `json:"id"`
	Name            *string `json:"name"`
	Description     *string `json:"description"` // nil for a segment that was made with its network
	NetworkID       string  `json:"network_id"`
	NetworkType     string  `json:"network_type"`
	PhysicalNetwork *string `json:"physical_network"`
	SegmentationID  *int64  `json:"segmentation_id"`
	CreatedAt       string  `json:"created_at"`
	UpdatedAt       string  `json:"updated_at"`
	Revision        int64   `json:"revision_number"`
	// Index, Dynamic and Host are as in Segment: columns, and not part of the body.
	Index   int64  `json:"-"`
	Dynamic bool   `json:"-"`
	Host    string `json:"-"`
}

// Segment is what drivers know of the segment.
func (s *NetworkSegment) Segment() Segment {
	out := Segment{ID: s.ID, NetworkID: s.NetworkID, NetworkType: s.NetworkType, Index: s.Index, Dynamic: s.Dynamic, Host: s.Host}
	if s.PhysicalNetwork != nil {
		out.PhysicalNetwork = *s.PhysicalNetwork
	}
	if s.SegmentationID != nil {
		out.SegmentationID = *s.SegmentationID
	}
	return out
}

// Resource is the segment as a resource without a name.
func (s *Segment) Resource(now string) NetworkSegment {
	out := NetworkSegment{ID: s.ID, NetworkID: s.NetworkID, NetworkType: s.NetworkType, CreatedAt: now, UpdatedAt: now, Index: s.Index, Dynamic: s.Dynamic, Host: s.Host}
	if s.PhysicalNetwork != "" {
		physical := s.PhysicalNetwork
		out.PhysicalNetwork = &physical
	}
	if s.SegmentationID != 0 {
		id := s.SegmentationID
		out.SegmentationID = &id
	}
	return out
}

// SegmentRange is ids of a network type that project networks get theirs from: those of the configuration (Default), those that an
// administrator set for everybody (Shared), and those of one project.
type SegmentRange struct {
	Standard
	// ProjectID is nil for a range that is shared. The older name of the owner is not shown of ranges.
	ProjectID       *string         `json:"project_id"`
	TenantID        json.RawMessage `json:"tenant_id,omitempty"` // always empty
	Name            string          `json:"name"`
	Default         bool            `json:"default"`
	Shared          bool            `json:"shared"`
	NetworkType     string          `json:"network_type"`
	PhysicalNetwork *string         `json:"physical_network"` // of VLAN ranges alone
	Minimum         int64           `json:"minimum"`
	Maximum         int64           `json:"maximum"`
}

// When ports get their addresses: when they are made, when they are bound to a host of a network whose segments differ in
// their subnets, or not at all.
const (
	AllocationImmediate = "immediate"
	AllocationDeferred  = "deferred"
	AllocationNone      = "none"
)
