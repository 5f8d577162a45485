// Package assemble builds processes of parts: every constructor call and every table from a name that operators write to
// the driver behind it is here. cmd calls it with a loaded configuration. It holds no logic of its own: what
// could be tested apart from it belongs elsewhere.
package assemble
