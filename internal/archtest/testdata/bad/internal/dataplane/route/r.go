// Package route knows its neighbour.
package route

import _ "isospin/internal/dataplane/addr"
