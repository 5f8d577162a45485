package vpnaas

import (
	"time"

	"isospin/internal/apidef"
	"isospin/internal/apidef/types"
)

// VPNAESCtr is the extension vpn-aes-ctr; facts from neutron-lib api/definitions/vpn_aes_ctr.py.
func VPNAESCtr() apidef.Extension {
	return apidef.Extension{
		Alias: "vpn-aes-ctr", Name: "AES-CTR",
		Doc:      "Adds AES-CTR to the algorithms of VPN.",
		Updated:  time.Date(2024, 1, 9, 9, 0, 0, 0, time.UTC),
		Requires: []string{"vpnaas"},
		Overrides: map[string][]apidef.Attribute{
			"ikepolicies": {
				{Name: "encryption_algorithm", Doc: "The algorithm of encryption.", Type: types.Values("3des", "aes-128", "aes-192", "aes-256", "aes-128-ccm-8", "aes-192-ccm-8", "aes-256-ccm-8", "aes-128-ccm-12", "aes-192-ccm-12", "aes-256-ccm-12", "aes-128-ccm-16", "aes-192-ccm-16", "aes-256-ccm-16", "aes-128-gcm-8", "aes-192-gcm-8", "aes-256-gcm-8", "aes-128-gcm-12", "aes-192-gcm-12", "aes-256-gcm-12", "aes-128-gcm-16", "aes-192-gcm-16", "aes-256-gcm-16", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr"), Post: apidef.Optional, Put: apidef.Optional, Default: "aes-128"},
			},
			"ipsecpolicies": {
				{Name: "encryption_algorithm", Doc: "The algorithm of encryption.", Type: types.Values("3des", "aes-128", "aes-192", "aes-256", "aes-128-ccm-8", "aes-192-ccm-8", "aes-256-ccm-8", "aes-128-ccm-12", "aes-192-ccm-12", "aes-256-ccm-12", "aes-128-ccm-16", "aes-192-ccm-16", "aes-256-ccm-16", "aes-128-gcm-8", "aes-192-gcm-8", "aes-256-gcm-8", "aes-128-gcm-12", "aes-192-gcm-12", "aes-256-gcm-12", "aes-128-gcm-16", "aes-192-gcm-16", "aes-256-gcm-16", "aes-128-ctr", "aes-192-ctr", "aes-256-ctr"), Post: apidef.Optional, Put: apidef.Optional, Default: "aes-128"},
			},
		},
	}
}
