package config

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Host is what both halves know of the machine they run on.
type Host struct {
	Host      string `option:"host" computed:"the machine's name" help:"The name by which agents, bindings and schedulers know this machine. Nova must use the same."`
	StatePath string `option:"state_path" default:"/var/lib/neutron" help:"Read for the sake of $state_path in other values. Isospin's own files are in [isospin] state_dir."`
	MTU       int    `option:"global_physnet_mtu" default:"1500" min:"68" max:"65535" deprecated:"segment_mtu" help:"MTU of the physical networks underneath; the MTU of a network is derived from it. [ml2] physical_network_mtus holds exceptions."`
	DNSDomain string `option:"dns_domain" default:"openstacklocal" help:"Domain of the names that DHCP and DNS give to ports. While it is openstacklocal or empty, a port's dns_name is not kept."`
}

// DHCP is what servers promise and agents hand out.
type DHCP struct {
	LeaseSeconds int `option:"dhcp_lease_duration" default:"86400" min:"-1" help:"How long a lease lasts, in seconds; -1: for ever."`
}

// Log is how a process tells what it does. Logs go to standard error.
type Log struct {
	Debug bool `option:"debug" default:"false" help:"Log debugging messages too."`
	JSON  bool `option:"use_json" default:"false" help:"Log JSON objects instead of text, one a line."`
}

// State is where a process keeps its files.
type State struct {
	Dir string `option:"state_dir" computed:"/var/lib/isospin for root; else isospin in $XDG_STATE_HOME or ~/.local/state" help:"Folder of all state: embedded database, certificates, an agent's mirror."`
}

// SecurityGroup is about packet filters.
type SecurityGroup struct {
	Enabled             bool     `option:"enable_security_group" default:"true" help:"Whether the API offers security groups and agents filter."`
	FirewallDriver      string   `option:"firewall_driver" default:"" help:"How an agent filters. Empty: by flows on Open vSwitch, by nftables on Linux bridges. noop: not at all."`
	IPSet               bool     `option:"enable_ipset" default:"true" help:"Accepted: members of groups are always kept as sets."`
	PermittedEthertypes []string `option:"permitted_ethertypes" default:"" help:"Further ethertypes that ports may use, in hexadecimal, such as 0x4008."`
}

// stateDir is the default of [isospin] state_dir. It may be empty: then the caller has neither rights nor a home.
func stateDir(env []string, root bool) string {
	if root {
		return "/var/lib/isospin"
	}
	vars := map[string]string{}
	for _, pair := range env {
		k, v, _ := strings.Cut(pair, "=")
		vars[k] = v
	}
	if dir := vars["XDG_STATE_HOME"]; filepath.IsAbs(dir) {
		return filepath.Join(dir, "isospin")
	}
	if home := vars["HOME"]; home != "" {
		return filepath.Join(home, ".local", "state", "isospin")
	}
	return ""
}

// needStateDir fails the load when no folder for state is known.
func needStateDir(l *loader, s State) {
	if s.Dir == "" {
		l.fail(l.place("isospin", "state_dir"), "isospin", "state_dir", "no folder for state: there is no home, so name one")
	}
}

// hostPort is an address to listen on or to call, as [isospin] options hold it.
func hostPort(l *loader, option, text string) {
	if err := checkHostPort(text); err != nil {
		l.fail(l.place("isospin", option), "isospin", option, "%v", err)
	}
}

func checkHostPort(text string) error {
	at := strings.LastIndexByte(text, ':')
	if at < 0 || strings.Trim(text[at+1:], "0123456789") != "" || text[at+1:] == "" {
		return fmt.Errorf("%q is not of the form address:port", text)
	}
	return nil
}

// beside makes a path absolute as oslo.config's find_file does in the usual case: in the folder of the first
// configuration file or folder. Without any there is no such place, and the answer is empty.
func (l *loader) beside(path string) string {
	switch {
	case path == "" || filepath.IsAbs(path):
		return path
	case len(l.src.Files) > 0:
		return filepath.Join(filepath.Dir(l.src.Files[0]), path)
	case len(l.src.Dirs) > 0:
		return filepath.Join(l.src.Dirs[0], path)
	}
	return ""
}
