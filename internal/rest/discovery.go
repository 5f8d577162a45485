package rest

import (
	"encoding/json"
	"net/http"
)

// baseURL is scheme and host as the client knows them, or the configured prefix.
func (s *Server) baseURL(r *http.Request) string {
	if s.LinkPrefix != "" {
		return s.LinkPrefix
	}
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	if p := r.Header.Get("X-Forwarded-Proto"); p == "http" || p == "https" {
		scheme = p
	}
	return scheme + "://" + r.Host
}

type link struct {
	Rel  string `json:"rel"`
	Href string `json:"href"`
}

// versions answers GET /, without authentication.
func (s *Server) versions(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		s.fail(w, r, methodNotAllowed(r))
		return
	}
	type version struct {
		ID     string `json:"id"`
		Status string `json:"status"`
		Links  []link `json:"links"`
	}
	body, err := json.Marshal(map[string][]version{"versions": {{
		ID: "v2.0", Status: "CURRENT", Links: []link{{Rel: "self", Href: s.baseURL(r) + "/v2.0/"}},
	}}})
	if err == nil {
		err = s.write(w, http.StatusOK, body)
	}
	if err != nil {
		s.fail(w, r, err)
	}
}

// resourceIndex answers GET /v2.0/ with the core resources, as Neutron lists no others.
func (s *Server) resourceIndex(w http.ResponseWriter, r *http.Request) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed(r)
	}
	type entry struct {
		Name       string `json:"name"`
		Collection string `json:"collection"`
		Links      []link `json:"links"`
	}
	list := []entry{}
	for _, c := range []string{"networks", "subnets", "subnetpools", "ports"} {
		if e := s.byName[c]; e != nil {
			list = append(list, entry{Name: e.res.Name, Collection: c,
				Links: []link{{Rel: "self", Href: s.baseURL(r) + "/v2.0/" + e.res.Path}}})
		}
	}
	body, err := json.Marshal(map[string]any{"resources": list})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, body)
}

// extensions answers GET /v2.0/extensions and /v2.0/extensions/<alias>.
func (s *Server) extensions(w http.ResponseWriter, r *http.Request, alias string) error {
	if r.Method != http.MethodGet {
		return methodNotAllowed(r)
	}
	type extension struct {
		Alias       string   `json:"alias"`
		Name        string   `json:"name"`
		Description string   `json:"description"`
		Updated     string   `json:"updated"`
		Links       []string `json:"links"`
	}
	list := []extension{}
	for _, x := range s.Registry.Extensions() {
		item := extension{Alias: x.Alias, Name: x.Name, Description: x.Doc,
			Updated: x.Updated.Format("2006-01-02T15:04:05-07:00"), Links: []string{}}
		if alias == x.Alias {
			body, err := json.Marshal(map[string]extension{"extension": item})
			if err != nil {
				return err
			}
			return s.write(w, http.StatusOK, body)
		}
		list = append(list, item)
	}
	if alias != "" {
		// Plain text, as Neutron's (behaviour.md, section 1).
		http.Error(w, "No enabled extension has the alias "+printable(alias)+".", http.StatusNotFound)
		return nil
	}
	body, err := json.Marshal(map[string]any{"extensions": list})
	if err != nil {
		return err
	}
	return s.write(w, http.StatusOK, body)
}
