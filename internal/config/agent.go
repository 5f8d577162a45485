package config

import (
	"net/netip"
	"strings"
	"time"
)

// Agent is what `isospin agent` reads.
type Agent struct {
	Host          Host          `section:"DEFAULT"`
	DHCP          DHCP          `section:"DEFAULT"`
	DHCPRole      DHCPRole      `section:"DEFAULT"`
	MetadataRole  MetadataRole  `section:"DEFAULT"`
	Log           Log           `section:"DEFAULT"`
	OVS           OVS           `section:"ovs"`
	LinuxBridge   LinuxBridge   `section:"linux_bridge"`
	BridgeVXLAN   BridgeVXLAN   `section:"vxlan"`
	L2            L2            `section:"agent"`
	SecurityGroup SecurityGroup `section:"securitygroup"`
	NetworkLog    NetworkLog    `section:"network_log"`
	State         State         `section:"isospin"`
	Isospin       AgentOwn      `section:"isospin"`
}

// DHCPRole is what a Neutron DHCP agent reads of dhcp_agent.ini.
type DHCPRole struct {
	DNSServers       []string `option:"dnsmasq_dns_servers" default:"" help:"Name servers for subnets that have none; empty: the agent itself resolves."`
	LocalResolv      bool     `option:"dnsmasq_local_resolv" default:"false" help:"Hand on queries to the name servers of the host."`
	IsolatedMetadata bool     `option:"enable_isolated_metadata" default:"false" help:"Serve metadata on networks without a router."`
	ForceMetadata    bool     `option:"force_metadata" default:"false" help:"Serve metadata on all networks, with or without a router."`
}

// MetadataRole is what a Neutron metadata agent reads of metadata_agent.ini.
type MetadataRole struct {
	NovaHost     string `option:"nova_metadata_host" default:"127.0.0.1" deprecated:"nova_metadata_ip" help:"Address of Nova's metadata service."`
	NovaPort     int    `option:"nova_metadata_port" default:"8775" min:"0" max:"65535" help:"Port of Nova's metadata service."`
	NovaProtocol string `option:"nova_metadata_protocol" default:"http" choices:"http,https" help:"Protocol of Nova's metadata service."`
	NovaInsecure bool   `option:"nova_metadata_insecure" default:"false" help:"Do not check the certificate of Nova's metadata service."`
	Secret       string `option:"metadata_proxy_shared_secret" default:"" secret:"true" help:"Secret that requests to Nova are signed with; Nova must have the same."`
}

// OVS is the Open vSwitch of the host.
type OVS struct {
	Connection        string     `option:"ovsdb_connection" default:"" help:"How to reach the database server, unix:path or tcp:address:port; empty: db.sock in [isospin] ovs_run_dir."`
	Timeout           int        `option:"ovsdb_timeout" default:"10" min:"1" help:"How long an answer of the database server may take, in seconds."`
	IntegrationBridge string     `option:"integration_bridge" default:"br-int" help:"Bridge that ports are plugged into."`
	TunnelBridge      string     `option:"tunnel_bridge" default:"br-tun" help:"Bridge that tunnels leave from."`
	IntPatch          string     `option:"int_peer_patch_port" default:"patch-tun" help:"The integration bridge's end of the patch to the tunnel bridge."`
	TunPatch          string     `option:"tun_peer_patch_port" default:"patch-int" help:"The tunnel bridge's end of the patch to the integration bridge."`
	LocalIP           netip.Addr `option:"local_ip" default:"" help:"Address of this host's tunnel endpoint; empty: no tunnels."`
	BridgeMappings    Mappings   `option:"bridge_mappings" default:"" help:"Bridge of each physical network that the host is connected to. The bridges must exist."`
	DatapathType      string     `option:"datapath_type" default:"system" choices:"system,netdev" help:"Datapath of the bridges: the kernel's, or userspace."`
	MACTableSize      int        `option:"bridge_mac_table_size" default:"50000" min:"1" help:"How many MACs a bridge may learn."`
	VhostUserDir      string     `option:"vhostuser_socket_dir" default:"/var/run/openvswitch" help:"Folder of vhost-user sockets, told to Nova."`
}

// LinuxBridge is for hosts without Open vSwitch.
type LinuxBridge struct {
	Interfaces Mappings `option:"physical_interface_mappings" default:"" help:"Device of each physical network that the host is connected to. For a flat network it must have no addresses."`
	Bridges    Mappings `option:"bridge_mappings" default:"" help:"Bridge of each physical network that has one already. It comes before a device of the same physical network."`
}

// BridgeVXLAN is VXLAN on hosts without Open vSwitch.
type BridgeVXLAN struct {
	Enabled bool       `option:"enable_vxlan" default:"true" help:"Whether the host carries VXLAN networks."`
	LocalIP netip.Addr `option:"local_ip" default:"" help:"Address of this host's tunnel endpoint; empty: no tunnels."`
	Group   string     `option:"vxlan_group" default:"" help:"Accepted: no multicast group is asked, frames go to the endpoints that servers name."`
	Port    int        `option:"udp_dstport" default:"4789" min:"1" max:"65535" help:"UDP port of VXLAN. All hosts, with Open vSwitch too, must have the same."`
	TTL     int        `option:"ttl" default:"0" min:"0" max:"255" help:"TTL of tunnel packets; 0: the kernel's."`
	TOS     int        `option:"tos" default:"0" min:"0" max:"255" help:"TOS of tunnel packets; 1: the inner packet's."`
	L2Pop   bool       `option:"l2_population" default:"true" help:"Accepted: forwarding entries always come from the servers."`
	ARP     bool       `option:"arp_responder" default:"false" help:"Answer ARP requests for ports of other hosts on the host that asks. Announcements of addresses then stay within the host: leave it off where guests hand addresses to each other."`
}

// L2 is what L2 agents have in common.
type L2 struct {
	TunnelTypes  []string      `option:"tunnel_types" default:"vxlan,gre,geneve" choices:"vxlan,gre,geneve" help:"Tunnels that the host can end. They need a local_ip."`
	VXLANPort    int           `option:"vxlan_udp_port" default:"4789" min:"1" max:"65535" help:"UDP port of VXLAN on Open vSwitch."`
	L2Population bool          `option:"l2_population" default:"true" help:"Accepted: forwarding entries always come from the servers."`
	ARPResponder bool          `option:"arp_responder" default:"true" help:"Answer ARP requests on the host that asks."`
	DontFragment bool          `option:"dont_fragment" default:"true" help:"Set DF on tunnel packets."`
	TunnelCsum   bool          `option:"tunnel_csum" default:"false" help:"Checksum the outer packets of tunnels."`
	DropOnStart  bool          `option:"drop_flows_on_start" default:"false" help:"Accepted and not done: a restart never touches flows that are right."`
	Extensions   []string      `option:"extensions" default:"" help:"Agent extensions by name, such as qos, fdb, log."`
	Zone         string        `option:"availability_zone" default:"nova" help:"Availability zone of the host's DHCP and L3 roles."`
	Report       time.Duration `option:"report_interval" default:"30" help:"A heartbeat at least so often. It should be less than half of agent_down_time."`
}

// NetworkLog is how events of security groups are written down.
type NetworkLog struct {
	Rate  int    `option:"rate_limit" default:"100" min:"100" max:"1000000" help:"How many packets a second are written down at most, of accepted and of refused ones each."`
	Burst int    `option:"burst_limit" default:"25" min:"25" max:"1000000" help:"How many packets at once."`
	File  string `option:"local_output_log_base" default:"" help:"File for the events; at 100 MB it is set aside as <file>.1. Empty: the agent's own log."`
}

// AgentOwn is what only an Isospin agent has.
type AgentOwn struct {
	Servers    []string `option:"servers" default:"" help:"address:port of the servers' sessions, any number; empty: those in the enrolment."`
	Enrolment  string   `option:"enrolment" default:"" help:"The file that isospin host add wrote for this host: server addresses, certificate, key."`
	L2Agent    string   `option:"l2_agent" default:"openvswitch" choices:"openvswitch,linuxbridge,none" help:"What ports are plugged into on this host."`
	Roles      []string `option:"roles" default:"l2,dhcp,l3,metadata" choices:"l2,dhcp,l3,metadata" help:"What this host does; each is shown as an agent of its own."`
	OVSRunDir  string   `option:"ovs_run_dir" default:"/var/run/openvswitch" help:"Folder of Open vSwitch's sockets."`
	HTTPListen string   `option:"http_listen" default:"127.0.0.1:9699" help:"address:port, or unix:/path, of /healthz, /readyz and /metrics; empty: none."`
}

// OVSDB is how to reach the database server of the host's Open vSwitch.
func (a *Agent) OVSDB() string {
	if a.OVS.Connection != "" {
		return a.OVS.Connection
	}
	return "unix:" + a.Isospin.OVSRunDir + "/db.sock"
}

// finish judges options together.
func (a *Agent) finish(l *loader) {
	for _, s := range a.Isospin.Servers {
		hostPort(l, "servers", s)
	}
	if listen := a.Isospin.HTTPListen; listen != "" && !strings.HasPrefix(listen, "unix:/") {
		hostPort(l, "http_listen", a.Isospin.HTTPListen)
	}
	if a.L2.Report <= 0 {
		l.fail(l.place("agent", "report_interval"), "agent", "report_interval", "it must be more than 0")
	}
	needStateDir(l, a.State)
}
