// Package conformance holds the API to Neutron's behaviour and to its own promises, from outside: real requests against
// whole servers on every database, with clients that others use. It has tests alone. What takes long has the
// build tag conformance.
//
// Others' clients and tests run whole: tempest's tests of networking with Debian's Keystone (TestTempest), openstackclient command by
// command (TestOpenstackclient, whose walk is testdata/openstack.walk), gophercloud package by package (TestGophercloud...). Each
// of the three finds out by itself what there is to run, and fails when something is neither run nor named with a reason.
package conformance
