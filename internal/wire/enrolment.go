package wire

import (
	"encoding/json"
	"errors"
	"fmt"
)

// ServerName is the name that every server's certificate bears on the session listener, whatever its addresses are:
// agents verify it, and the authority that signed it, instead of the address that they dialled.
const ServerName = "isospin-server"

// Enrolment is all that a host needs to open its session; `isospin host add` writes it as a file and an agent reads it. It
// holds the host's private key.
type Enrolment struct {
	// Host is the name that the certificate is for and that ports are bound to.
	Host string `json:"host"`
	// Servers are addresses (host:port) of which any will do.
	Servers []string `json:"servers"`
	// CA, Certificate and Key are PEM.
	CA          string `json:"ca"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
}

// Marshal is the text of an enrolment file.
func (e Enrolment) Marshal() ([]byte, error) {
	raw, err := json.MarshalIndent(e, "", "  ")
	return append(raw, '\n'), err
}

// ParseEnrolment reads the text of an enrolment file.
func ParseEnrolment(raw []byte) (Enrolment, error) {
	var e Enrolment
	if err := json.Unmarshal(raw, &e); err != nil {
		return e, fmt.Errorf("enrolment: %w", err)
	}
	if e.Host == "" || len(e.Servers) == 0 || e.CA == "" || e.Certificate == "" || e.Key == "" {
		return e, errors.New("enrolment: host, servers, ca, certificate and key must all be there")
	}
	return e, nil
}
