// Package addr is fine.
package addr
