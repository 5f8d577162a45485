// Package wire is all that server and agent share: the protocol of the host session, the documents that travel on
// it, the hash that tells whether two sides hold the same, and the small interfaces that each side reads the
// other through. The messages are protobuf (session.proto, documents.proto, generated code checked in). It
// holds no connection and no state.
package wire

import (
	"crypto/sha256"
	"encoding/binary"

	"google.golang.org/protobuf/proto"
)

//go:generate protoc --go_out=../.. --go_opt=module=isospin --go-grpc_out=../.. --go-grpc_opt=module=isospin -I . session.proto documents.proto

// Protocol is the version that this build speaks; OldestProtocol the oldest that it still understands.
const (
	Protocol       = 1
	OldestProtocol = 1
)

// The kinds of documents.
const (
	KindNetwork     = "network"
	KindSubnet      = "subnet"
	KindPort        = "port"
	KindForward     = "forward"
	KindDHCP        = "dhcp"
	KindReservation = "reservation"
	KindGroup       = "sg"
	KindRule        = "sgrule"
	KindMember      = "sgmember"
	KindAddress     = "agaddr"
	KindQoS         = "qos"
	KindRouter      = "router"
	KindLocalIP     = "localip"
	KindLog         = "log"
)

// The families of sets.
const (
	FamilyHost    = "host" // what a host holds of its own: ports bound there, DHCP networks served there
	FamilyNetwork = "net"  // a network, its subnets and where its ports are
	FamilyDHCP    = "dhcp" // a network's DHCP reservations
	FamilyGroup   = "sg"   // a security group and its rules
	FamilyMembers = "sgm"  // a security group's members

	FamilyAddresses = "ag"   // an address group's addresses
	FamilyQoS       = "qos"  // a QoS policy
	FamilyLogs      = "logs" // what a project wants written down of its packets
)

// The entities that report on ports.
const (
	EntityL2     = "l2"
	EntityDHCP   = "dhcp"
	EntityMirror = "mirror"
	// EntityQoS keeps limits; no port waits for it. UNPLUGGED: no policy is in force for the port.
	EntityQoS = "qos"
)

// New makes an empty message of a kind's type, nil for a kind that this build does not know.
func New(kind string) proto.Message {
	switch kind {
	case KindNetwork:
		return &Network{}
	case KindSubnet:
		return &Subnet{}
	case KindPort:
		return &Port{}
	case KindForward:
		return &Forward{}
	case KindDHCP:
		return &DHCPNetwork{}
	case KindReservation:
		return &Reservation{}
	case KindGroup:
		return &SecurityGroup{}
	case KindRule:
		return &SecurityGroupRule{}
	case KindMember:
		return &SecurityGroupMember{}
	case KindAddress:
		return &AddressGroupEntry{}
	case KindRouter:
		return &Router{}
	case KindQoS:
		return &QoSPolicy{}
	case KindLocalIP:
		return &LocalIP{}
	case KindLog:
		return &Log{}
	}
	return nil
}

// Reads is the newest version of each kind that this build reads and writes.
func Reads() map[string]uint32 {
	return map[string]uint32{
		KindNetwork: 1, KindSubnet: 1, KindPort: 1, KindForward: 1, KindDHCP: 1,
		KindReservation: 1, KindGroup: 1, KindRule: 1, KindMember: 1, KindAddress: 1, KindQoS: 1, KindRouter: 1, KindLocalIP: 1, KindLog: 1,
	}
}

// Encode writes a document in the one way in which equal messages give equal bytes.
func Encode(kind, id string, m proto.Message) (*Document, error) {
	body, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		return nil, err
	}
	return &Document{Kind: kind, Id: id, Version: Reads()[kind], Body: body}, nil
}

// Hash is a document's share of its set's hash: sets add the shares up modulo 2^64, so that a change of one
// document changes the sum without reading the others.
func (d *Document) Hash() uint64 {
	h := sha256.New()
	var n [8]byte
	for _, part := range [][]byte{[]byte(d.Kind), []byte(d.Id), d.Body} {
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write(part)
	}
	binary.BigEndian.PutUint64(n[:], uint64(d.Version))
	h.Write(n[:])
	return binary.BigEndian.Uint64(h.Sum(nil))
}
