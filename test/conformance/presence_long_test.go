//go:build conformance

package conformance

// nothings are the values that TestPresence gives.
func nothings() []any { return []any{nil, "", []any{}, map[string]any{}} }
