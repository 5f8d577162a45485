package types

import "strconv"

// ProtocolNumber is the number of a protocol in the canonical text of SecurityGroupProtocol: a name or a number.
func ProtocolNumber(text string) (int, bool) {
	if n, ok := protocolNumber(text); ok {
		return n, true
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 0 && n <= 255
}
