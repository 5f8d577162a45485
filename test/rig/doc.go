// Package rig is what tests of the whole API stand on: callers in several names, scripts of requests with expected
// answers, databases of every kind, servers as processes of their own, dumps of all tables. Tests below test/ use
// it; no part of a server or agent does.
package rig
