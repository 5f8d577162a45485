// Package secgroup is the plugin of security groups: the groups, their rules, each project's default group, and which ports
// are members. It guards the core plugin's writes of networks and ports. What hosts enforce follows from the
// changes it declares; it never renders filters itself.
package secgroup
