// Package archtest holds the project to its own rules: which layer may import which, how long a file may be,
// what no package may do. Everything in it is a test, run by `make quick`; nothing imports it. Each rule says
// in its message what to do instead; CONTRIBUTING.md says why there is the rule.
package archtest
