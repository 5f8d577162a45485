// Package vmlab tries the table of test/scenario under a full kernel: with the kernel's Open vSwitch, with Linux bridges, and
// with one host of either. Its tests have the tag vm and run inside the virtual machine of test/vm (`make vm`); nothing imports it.
package vmlab
