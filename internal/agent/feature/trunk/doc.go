// Package trunk is the agent feature that knows trunks: it tells the watch of the integration bridge which ports come inside which other one, and the
// features after it which of them are elsewhere now. Flows are theirs; it wants nothing.
package trunk
