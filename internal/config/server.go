package config

import (
	"net"
	"net/netip"
	"time"
)

// Server is what `isospin server` reads. Its components are handed one by one to the constructors that need them.
type Server struct {
	API           API           `section:"DEFAULT"`
	Plugins       Plugins       `section:"DEFAULT"`
	Host          Host          `section:"DEFAULT"`
	DHCP          DHCP          `section:"DEFAULT"`
	Limits        Limits        `section:"DEFAULT"`
	Scheduling    Scheduling    `section:"DEFAULT"`
	Routers       Routers       `section:"DEFAULT"`
	OnRouters     OnRouters     `section:"DEFAULT"`
	Notify        Notify        `section:"DEFAULT"`
	Log           Log           `section:"DEFAULT"`
	Database      Database      `section:"database"`
	ML2           ML2           `section:"ml2"`
	Flat          Flat          `section:"ml2_type_flat"`
	VLAN          VLAN          `section:"ml2_type_vlan"`
	VXLAN         VXLAN         `section:"ml2_type_vxlan"`
	GRE           GRE           `section:"ml2_type_gre"`
	Geneve        Geneve        `section:"ml2_type_geneve"`
	SecurityGroup SecurityGroup `section:"securitygroup"`
	OVSDriver     OVSDriver     `section:"ovs_driver"`
	SRIOVDriver   SRIOVDriver   `section:"sriov_driver"`
	Policy        Policy        `section:"oslo_policy"`
	Quotas        Quotas        `section:"quotas"`
	Authtoken     Authtoken     `section:"keystone_authtoken"`
	Nova          Nova          `section:"nova"`
	State         State         `section:"isospin"`
	Isospin       ServerOwn     `section:"isospin"`
}

// API is where and for whom the API is served.
type API struct {
	BindHost         string    `option:"bind_host" computed:"0.0.0.0 with auth_strategy keystone, else 127.0.0.1" help:"Address that the API listens on."`
	BindPort         int       `option:"bind_port" default:"9696" min:"0" max:"65535" help:"Port that the API listens on; 0: a free one."`
	AuthStrategy     string    `option:"auth_strategy" computed:"keystone when [keystone_authtoken] names a Keystone, else dev" choices:"dev,keystone,noauth" help:"Who says who a caller is: keystone; dev, the built-in identity; noauth, the caller."`
	MaxLimit         PageLimit `option:"pagination_max_limit" default:"-1" help:"The longest page of a list; -1 or infinite: no limit."`
	FilterValidation bool      `option:"filter_validation" default:"true" help:"Refuse filters that a collection does not have."`
	AllowBulk        bool      `option:"allow_bulk" default:"true" help:"Allow the creation of several resources in one request."`
	LinkPrefix       string    `option:"network_link_prefix" default:"" help:"Start of the links in answers, where a proxy stands before the API; empty: what the request was sent to."`
	ExtensionsPath   string    `option:"api_extensions_path" default:"" help:"Accepted. Extensions are part of the build."`
}

// Plugins are the services that run.
type Plugins struct {
	Core         string   `option:"core_plugin" default:"ml2" help:"The core plugin. There is one, ml2."`
	Service      []string `option:"service_plugins" default:"*" help:"Service plugins by name, as Neutron's entry points have it; *: all that are in the build."`
	IPAM         string   `option:"ipam_driver" default:"internal" help:"Who gives addresses. There is one driver, internal."`
	VLANTransp   bool     `option:"vlan_transparent" default:"false" help:"Offer VLAN-transparent networks."`
	VLANQinQ     bool     `option:"vlan_qinq" default:"false" help:"Offer QinQ networks."`
	Traditional  bool     `option:"enable_traditional_dhcp" default:"true" help:"Schedule networks to DHCP agents. Off: only what serves DHCP at the port itself."`
	PDEnabled    bool     `option:"ipv6_pd_enabled" default:"false" help:"Take the prefix of IPv6 subnets that ask for the usual pool from prefix delegation."`
	DefaultZones []string `option:"default_availability_zones" default:"" help:"Availability zones of networks and routers that name none."`
}

// Limits are the sizes that requests are held to, and the stock that addresses come from.
type Limits struct {
	BaseMAC         net.HardwareAddr `option:"base_mac" default:"fa:16:3e:00:00:00" help:"Start of the MACs that ports get: three octets, or four when the fourth is not zero."`
	DVRBaseMAC      net.HardwareAddr `option:"dvr_base_mac" default:"fa:16:3f:00:00:00" help:"Start of the MACs that hosts get for distributed routers. It must differ from base_mac."`
	AddressPairs    int              `option:"max_allowed_address_pair" default:"10" min:"0" help:"How many allowed address pairs a port can have."`
	DNSNameservers  int              `option:"max_dns_nameservers" default:"5" min:"0" help:"How many DNS name servers a subnet can have."`
	SubnetHostRoute int              `option:"max_subnet_host_routes" default:"20" min:"0" help:"How many host routes a subnet can have."`
	RouterRoutes    int              `option:"max_routes" default:"30" min:"1" help:"How many routes a router can have."`
}

// Scheduling is about agents: who lives, and who gets what.
type Scheduling struct {
	AgentDownTime        time.Duration `option:"agent_down_time" default:"75" min:"1" max:"2147483" help:"An agent that was not heard of for so long is taken for dead."`
	DHCPAgents           int           `option:"dhcp_agents_per_network" default:"1" min:"1" help:"How many DHCP agents serve a network."`
	DHCPFailover         bool          `option:"allow_automatic_dhcp_failover" default:"true" help:"Move networks away from dead DHCP agents."`
	L3Failover           bool          `option:"allow_automatic_l3agent_failover" default:"false" help:"Move routers away from dead L3 agents."`
	NetworkAutoSchedule  bool          `option:"network_auto_schedule" default:"true" help:"Give networks without a DHCP agent to agents that come."`
	RouterAutoSchedule   bool          `option:"router_auto_schedule" default:"true" help:"Give routers without an L3 agent to agents that come."`
	EnableNewAgents      bool          `option:"enable_new_agents" default:"true" help:"Whether agents seen for the first time are administratively up."`
	LoadType             string        `option:"dhcp_load_type" default:"networks" choices:"networks,subnets,ports" help:"What a DHCP agent's load is counted in."`
	ServicesOnDownAgents bool          `option:"enable_services_on_agents_with_admin_state_down" default:"false" help:"Keep serving on agents that are administratively down; they are given nothing new."`
}

// Notify is what Nova is told.
type Notify struct {
	PortStatus bool          `option:"notify_nova_on_port_status_changes" default:"true" help:"Tell Nova when a port is plugged or unplugged."`
	PortData   bool          `option:"notify_nova_on_port_data_changes" default:"true" help:"Tell Nova when a port's addresses change."`
	Interval   time.Duration `option:"send_events_interval" default:"2" min:"0" help:"Events are gathered for so long before they are sent."`
	Retries    int           `option:"http_retries" default:"3" min:"0" help:"How often a call to another service is repeated at once. Owed events are repeated until they are delivered."`
}

// ML2 is the core plugin.
type ML2 struct {
	TypeDrivers         []string       `option:"type_drivers" default:"local,flat,vlan,gre,vxlan,geneve" help:"Network types that can be used."`
	ProjectNetworkTypes []string       `option:"project_network_types" default:"vxlan" deprecated:"tenant_network_types" help:"Types that project networks get, tried in order."`
	MechanismDrivers    []string       `option:"mechanism_drivers" default:"openvswitch,linuxbridge,l2population" help:"Drivers that bind ports, tried in order."`
	ExtensionDrivers    []string       `option:"extension_drivers" default:"*" help:"Drivers that add attributes to networks, subnets and ports; *: all that are in the build."`
	PathMTU             int            `option:"path_mtu" default:"0" min:"0" help:"The largest packet that tunnels may send, in octets; 0: global_physnet_mtu. The smaller of the two counts."`
	PhysicalNetworkMTUs map[string]int `option:"physical_network_mtus" default:"" deprecated:"physnet_mtus" help:"MTU of physical networks that differ from global_physnet_mtu."`
	OverlayIPVersion    int            `option:"overlay_ip_version" default:"4" choices:"4,6" help:"IP version of the tunnels' endpoints; it counts for the MTU."`
	ExternalNetworkType string         `option:"external_network_type" default:"" help:"Type of external networks that name none; empty: as project networks."`
}

// Flat is the type driver of flat networks.
type Flat struct {
	Networks []string `option:"flat_networks" default:"*" help:"Physical networks that a flat network may use; *: any."`
}

// VLAN is the type driver of VLAN networks.
type VLAN struct {
	Ranges []VLANRange `option:"network_vlan_ranges" default:"physnet1:1:4094,public:1:4094" help:"VLANs that project networks get, by physical network. A physical network without a range can only be named by an administrator."`
}

// VXLAN is the type driver of VXLAN networks.
type VXLAN struct {
	Ranges []IDRange `option:"vni_ranges" default:"1:16777215" min:"1" max:"16777215" help:"VNIs that project networks get."`
	Group  string    `option:"vxlan_group" default:"" help:"Multicast group of VXLAN on Linux bridges; empty: unicast."`
}

// GRE is the type driver of GRE networks.
type GRE struct {
	Ranges []IDRange `option:"tunnel_id_ranges" default:"1:4294967295" min:"1" max:"4294967295" help:"Keys that project networks get."`
}

// Geneve is the type driver of Geneve networks.
type Geneve struct {
	Ranges        []IDRange `option:"vni_ranges" default:"1:16777215" min:"1" max:"16777215" help:"VNIs that project networks get."`
	MaxHeaderSize int       `option:"max_header_size" default:"30" min:"0" help:"Octets of a Geneve header with its options; the MTU is less by them."`
}

// OVSDriver is the mechanism driver openvswitch.
type OVSDriver struct {
	Prohibited []string `option:"vnic_type_prohibit_list" default:"" help:"VNIC types that the driver leaves to others."`
	CreateTap  bool     `option:"ovs_create_tap" default:"true" help:"Whether os-vif makes the tap device; told to Nova in the VIF's details."`
}

// SRIOVDriver is the mechanism driver sriovnicswitch.
type SRIOVDriver struct {
	Prohibited []string `option:"vnic_type_prohibit_list" default:"" deprecated:"vnic_type_blacklist" choices:"direct,macvtap,direct-physical,accelerator-direct" help:"VNIC types that the driver leaves to others."`
}

// Policy is where rules come from that differ from the defaults (oslo.policy).
type Policy struct {
	File        string   `option:"policy_file" default:"policy.yaml" help:"File of rules, JSON or YAML. It is looked for beside the first configuration file, unless the path is absolute, and need not exist."`
	Dirs        []string `option:"policy_dirs" default:"policy.d" multi:"true" help:"Folders of further files of rules, looked for in the same place."`
	DefaultRule string   `option:"policy_default_rule" default:"default" help:"Rule for what has no rule."`
	NewDefaults bool     `option:"enforce_new_defaults" default:"true" help:"Whether the deprecated defaults of rules are out of force."`
}

// Quotas are the limits of projects that have none of their own; -1: no limit.
type Quotas struct {
	Default           int  `option:"default_quota" default:"-1" min:"-1" help:"Limit of resources that have no option here."`
	Network           int  `option:"quota_network" default:"100" min:"-1" help:"Networks a project."`
	Subnet            int  `option:"quota_subnet" default:"100" min:"-1" help:"Subnets a project."`
	Port              int  `option:"quota_port" default:"500" min:"-1" help:"Ports a project."`
	Router            int  `option:"quota_router" default:"10" min:"-1" help:"Routers a project."`
	FloatingIP        int  `option:"quota_floatingip" default:"50" min:"-1" help:"Floating IPs a project."`
	SecurityGroup     int  `option:"quota_security_group" default:"10" min:"-1" help:"Security groups a project."`
	SecurityGroupRule int  `option:"quota_security_group_rule" default:"100" min:"-1" help:"Security group rules a project."`
	RBACPolicy        int  `option:"quota_rbac_policy" default:"10" min:"-1" deprecated:"quota_rbac_entry" help:"RBAC policies a project."`
	Track             bool `option:"track_quota_usage" default:"true" help:"Accepted: usage is always counted."`
}

// ByResource is the default limits by the resource's name in the quotas API.
func (q Quotas) ByResource() map[string]int {
	return map[string]int{
		"network": q.Network, "subnet": q.Subnet, "port": q.Port, "router": q.Router, "floatingip": q.FloatingIP,
		"security_group": q.SecurityGroup, "security_group_rule": q.SecurityGroupRule, "rbac_policy": q.RBACPolicy,
	}
}

// Authtoken is the Keystone that tokens are asked about, and who asks (keystonemiddleware).
type Authtoken struct {
	PublicURL       string        `option:"www_authenticate_uri" default:"" deprecated:"auth_uri" help:"Where callers without a token are sent; empty: auth_url."`
	URL             string        `option:"auth_url" default:"" help:"Keystone's address, with or without /v3. Tokens are asked about here, whatever the catalogue says."`
	Type            string        `option:"auth_type" default:"password" deprecated:"auth_plugin" choices:"password,v3password" help:"How to log in to Keystone."`
	Username        string        `option:"username" default:"" deprecated:"user_name,admin_user" help:"User that asks."`
	UserID          string        `option:"user_id" default:"" help:"User that asks, by ID."`
	Password        string        `option:"password" default:"" secret:"true" deprecated:"admin_password" help:"The user's password."`
	UserDomainName  string        `option:"user_domain_name" default:"" help:"Domain of the user, by name."`
	UserDomainID    string        `option:"user_domain_id" default:"" help:"Domain of the user, by ID."`
	ProjectName     string        `option:"project_name" default:"" deprecated:"tenant_name,admin_tenant_name" help:"Project that the user acts in."`
	ProjectID       string        `option:"project_id" default:"" deprecated:"tenant_id" help:"Project that the user acts in, by ID."`
	ProjectDomain   string        `option:"project_domain_name" default:"" help:"Domain of the project, by name."`
	ProjectDomainID string        `option:"project_domain_id" default:"" help:"Domain of the project, by ID."`
	DomainName      string        `option:"default_domain_name" default:"" help:"Domain of user and project where none is given, by name."`
	DomainID        string        `option:"default_domain_id" default:"" help:"Domain of user and project where none is given, by ID; without a name too: default."`
	SystemScope     string        `option:"system_scope" default:"" choices:",all" help:"all: the user acts on the system and not in a project."`
	Region          string        `option:"region_name" default:"" help:"Accepted. Keystone is asked at auth_url."`
	Interface       string        `option:"interface" default:"internal" help:"Accepted. Keystone is asked at auth_url."`
	CAFile          string        `option:"cafile" default:"" help:"Certificates that Keystone's is checked with; empty: the system's."`
	CertFile        string        `option:"certfile" default:"" help:"Certificate that Keystone is shown."`
	KeyFile         string        `option:"keyfile" default:"" help:"Key of certfile; empty: it is in certfile."`
	Insecure        bool          `option:"insecure" default:"false" help:"Do not check Keystone's certificate."`
	Timeout         time.Duration `option:"http_connect_timeout" default:"10" min:"1" max:"600" help:"After so long without an answer, repetitions included, Keystone is taken for away, and the caller is told so (503)."`
	Retries         int           `option:"http_request_max_retries" default:"3" min:"0" help:"How often Keystone is asked again at once when it cannot be reached."`
	CacheSeconds    int           `option:"token_cache_time" default:"300" min:"-1" help:"How long an answer about a token is believed; -1: not at all."`
	ServiceRoles    []string      `option:"service_token_roles" default:"service" help:"Roles of which one makes a service token count."`
	RolesRequired   bool          `option:"service_token_roles_required" default:"false" help:"Refuse service tokens without such a role."`
}

// Nova is the Compute service that is told about ports.
type Nova struct {
	URL             string `option:"auth_url" default:"" help:"Keystone's address; empty: Nova is told nothing."`
	Type            string `option:"auth_type" default:"password" deprecated:"auth_plugin" choices:"password,v3password" help:"How to log in to Keystone."`
	Username        string `option:"username" default:"" deprecated:"user_name" help:"User that tells Nova."`
	Password        string `option:"password" default:"" secret:"true" help:"The user's password."`
	UserDomainName  string `option:"user_domain_name" default:"" help:"Domain of the user, by name."`
	UserDomainID    string `option:"user_domain_id" default:"" help:"Domain of the user, by ID."`
	ProjectName     string `option:"project_name" default:"" deprecated:"tenant_name" help:"Project that the user acts in."`
	ProjectDomain   string `option:"project_domain_name" default:"" help:"Domain of the project, by name."`
	ProjectDomainID string `option:"project_domain_id" default:"" help:"Domain of the project, by ID."`
	Region          string `option:"region_name" default:"" help:"Region of the Compute service in the catalogue."`
	EndpointType    string `option:"endpoint_type" default:"public" choices:"public,admin,internal" help:"Which of its addresses is called."`
	CAFile          string `option:"cafile" default:"" help:"Certificates that Nova's and Keystone's are checked with; empty: the system's."`
	Insecure        bool   `option:"insecure" default:"false" help:"Do not check certificates."`
}

// ServerOwn is what only an Isospin server has.
type ServerOwn struct {
	Memory         bool   `option:"memory" default:"false" help:"Keep the embedded database in memory; all is lost at the end."`
	SessionListen  string `option:"session_listen" default:"127.0.0.1:9698" help:"address:port that agents open their sessions to; port 0: a free one."`
	SessionAddress string `option:"session_address" default:"" help:"address:port that agents are told to call; empty: session_listen."`
	MetricsListen  string `option:"metrics_listen" default:"" help:"address:port of /metrics, /healthz and /readyz apart from the API; empty: on the API's address."`
	NoauthAnywhere bool   `option:"noauth_anywhere" default:"false" help:"Let auth_strategy noauth listen beyond loopback, where everybody who reaches the API is its administrator."`
}

// finish computes defaults that depend on other options and judges options together.
func (s *Server) finish(l *loader) {
	if s.API.AuthStrategy == "" {
		s.API.AuthStrategy = "dev"
		if s.Authtoken.URL != "" {
			s.API.AuthStrategy = "keystone"
		}
	}
	if s.API.AuthStrategy == "keystone" && s.Authtoken.URL == "" {
		l.fail(l.place("DEFAULT", "auth_strategy"), "keystone_authtoken", "auth_url", "auth_strategy keystone needs Keystone's address")
	}
	if s.API.BindHost == "" {
		s.API.BindHost = "127.0.0.1"
		if s.API.AuthStrategy == "keystone" {
			s.API.BindHost = "0.0.0.0"
		}
	}
	if s.API.AuthStrategy == "noauth" && !loopback(s.API.BindHost) && !s.Isospin.NoauthAnywhere {
		l.fail(l.place("DEFAULT", "bind_host"), "DEFAULT", "bind_host",
			"with auth_strategy noauth everybody who reaches %s is administrator; if that is meant, set [isospin] noauth_anywhere too", s.API.BindHost)
	}
	if s.Limits.BaseMAC.String() == s.Limits.DVRBaseMAC.String() {
		l.fail(l.place("DEFAULT", "dvr_base_mac"), "DEFAULT", "dvr_base_mac", "it must differ from base_mac")
	}
	hostPort(l, "session_listen", s.Isospin.SessionListen)
	if s.Isospin.SessionAddress != "" {
		hostPort(l, "session_address", s.Isospin.SessionAddress)
	}
	if s.Isospin.MetricsListen != "" {
		hostPort(l, "metrics_listen", s.Isospin.MetricsListen)
	}
	needStateDir(l, s.State)
	s.Policy.File = l.beside(s.Policy.File)
	for i, dir := range s.Policy.Dirs {
		s.Policy.Dirs[i] = l.beside(dir)
	}
}

// loopback tells whether a listener on host hears this machine alone.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.IsLoopback()
}
