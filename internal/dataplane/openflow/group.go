package openflow

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// GroupType says which buckets of a group run.
type GroupType uint8

// Types of groups.
const (
	GroupAll      GroupType = iota // every bucket: a flood
	GroupSelect                    // one, by a hash of the packet: a balance
	GroupIndirect                  // the only one: an indirection
)

func (t GroupType) String() string {
	switch t {
	case GroupSelect:
		return "select"
	case GroupIndirect:
		return "indirect"
	}
	return "all"
}

// Bucket is what a group does with its copy of a packet; changes of the packet end with the bucket.
type Bucket struct {
	Weight  uint16 // GroupSelect only; 0 means 1 there
	Actions []Action
}

// Group is named by flows that share what it does. Its id is the key under which the driver of groups holds it.
type Group struct {
	Type    GroupType
	Buckets []Bucket

	// mark is set on groups that were read back, where it is all that is known.
	mark     uint32
	readBack bool
}

// Mark is a hash of g that the id of its first bucket carries in the switch; 0 for a group without buckets.
func (g Group) Mark() uint32 {
	if g.readBack {
		return g.mark
	}
	if len(g.Buckets) == 0 {
		return 0
	}
	sum := sha256.Sum256([]byte(g.String()))
	// Bucket ids end at 0xffffff00, and each later bucket's id is one higher.
	return binary.BigEndian.Uint32(sum[:])&0x7fffffff | 1
}

// String is the canonical text of g, without ids.
func (g Group) String() string { return string(g.appendText(nil, 0, false)) }

func (g Group) appendText(b []byte, id uint32, withIDs bool) []byte {
	if withIDs {
		b = fmt.Appendf(b, "group_id=%d,", id)
	}
	b = append(append(b, "type="...), g.Type.String()...)
	var mark uint32
	if withIDs {
		mark = g.Mark()
	}
	for i, k := range g.Buckets {
		b = append(b, ",bucket="...)
		if withIDs {
			b = fmt.Appendf(b, "bucket_id:%d,", mark+uint32(i))
		}
		if g.Type == GroupSelect {
			b = fmt.Appendf(b, "weight:%d,", max(k.Weight, 1))
		}
		b = append(b, "actions="...)
		if len(k.Actions) == 0 {
			b = append(b, "drop"...)
		}
		b = appendActions(b, k.Actions, nil)
	}
	return b
}

// SameGroup is the equality that the reconciler of groups is given.
func SameGroup(a, b Group) bool { return a.Mark() == b.Mark() }

// Check tells what is wrong with g as far as g alone shows it.
func (g Group) Check() error {
	if g.Type == GroupIndirect && len(g.Buckets) != 1 {
		return fmt.Errorf("an indirect group has one bucket, not %d", len(g.Buckets))
	}
	for _, k := range g.Buckets {
		if err := checkNested(k.Actions); err != nil {
			return err
		}
	}
	return nil
}

// Meter is a rate that the packets which pass it may not exceed; what is beyond is dropped.
type Meter struct {
	Packets bool   // Rate and Burst are packets a second and packets; else kilobits a second and kilobits
	Rate    uint32 // not 0
	Burst   uint32 // 0: what Open vSwitch finds fit
}

// String is m as ovs-ofctl has it.
func (m Meter) String() string {
	unit := "kbps"
	if m.Packets {
		unit = "pktps"
	}
	if m.Burst == 0 {
		return fmt.Sprintf("%s,band=type=drop,rate=%d", unit, m.Rate)
	}
	return fmt.Sprintf("%s,burst,band=type=drop,rate=%d,burst_size=%d", unit, m.Rate, m.Burst)
}

// SameMeter is the equality that the reconciler of meters is given.
func SameMeter(a, b Meter) bool { return a == b }

// Check tells of a meter that lets nothing through.
func (m Meter) Check() error {
	if m.Rate == 0 {
		return fmt.Errorf("a meter of rate 0")
	}
	return nil
}
