package model

import "encoding/json"

// Flavor is a kind of service that users can choose. The profiles that it offers are rows of their own (FlavorProfile).
type Flavor struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Description *string `json:"description"`
	ServiceType string  `json:"service_type"`
	Enabled     *bool   `json:"enabled"`
	// ServiceProfiles is what a request said; the answer's value is spliced.
	ServiceProfiles []string `json:"service_profiles,omitempty"`
}

// ServiceProfile is a driver with what it is told.
type ServiceProfile struct {
	ID          string  `json:"id"`
	Description *string `json:"description"`
	Driver      string  `json:"driver"`
	Enabled     *bool   `json:"enabled"`
	// Metainfo is a text or null; requests may give it in other forms.
	Metainfo json.RawMessage `json:"metainfo"`
}

// FlavorProfile is one profile that a flavour offers. ID, as everywhere below a flavour, is the profile's.
type FlavorProfile struct {
	ID       string `json:"id"`
	FlavorID string `json:"flavor_id"`
	// Place orders the profiles of a flavour: the first one serves.
	Place int64 `json:"place"`
}
