package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
)

func (s *Service) describeVersion(c *call) object {
	return object{
		"id": "v3.14", "status": "stable", "updated": "2020-04-07T00:00:00Z",
		"links":       []object{{"rel": "self", "href": s.base(c.Request) + "/identity/v3/"}},
		"media-types": []object{{"base": "application/json", "type": "application/vnd.openstack.identity-v3+json"}},
	}
}

func (s *Service) versions(c *call) (any, error) {
	c.code = http.StatusMultipleChoices
	return object{"versions": object{"values": []object{s.describeVersion(c)}}}, nil
}

func (s *Service) version(c *call) (any, error) {
	return object{"version": s.describeVersion(c)}, nil
}

// fixedID is the identifier of something that exists by configuration: the same on every server and at every start.
func fixedID(of string) string {
	sum := sha256.Sum256([]byte(of))
	return hex.EncodeToString(sum[:16])
}

func (e Entry) id() string { return fixedID("service " + e.Type) }

func interfaces() []string { return []string{"public", "internal", "admin"} }

func (s *Service) endpoint(c *call, e Entry, face string) object {
	return object{
		"id": fixedID("endpoint " + e.Type + " " + face), "interface": face, "region": s.cfg.Region, "region_id": s.cfg.Region,
		"url": s.base(c.Request) + e.Path,
	}
}

// catalog is the catalogue as tokens carry it.
func (s *Service) catalog(c *call) []object {
	out := make([]object, 0, len(s.cfg.Services))
	for _, e := range s.cfg.Services {
		var eps []object
		for _, face := range interfaces() {
			eps = append(eps, s.endpoint(c, e, face))
		}
		out = append(out, object{"id": e.id(), "type": e.Type, "name": e.Name, "endpoints": eps})
	}
	return out
}

func (s *Service) authCatalog(c *call) (any, error) {
	return object{"catalog": s.catalog(c), "links": s.self(c, "/auth/catalog")}, nil
}

func (s *Service) regions(c *call) []object {
	r := s.cfg.Region
	return []object{{"id": r, "description": "", "parent_region_id": nil, "links": s.self(c, "/regions/"+r)}}
}

func (s *Service) services(c *call) []object {
	var out []object
	for _, e := range s.cfg.Services {
		out = append(out, object{
			"id": e.id(), "type": e.Type, "name": e.Name, "enabled": true, "description": "", "links": s.self(c, "/services/"+e.id()),
		})
	}
	return out
}

func (s *Service) endpoints(c *call) []object {
	var out []object
	for _, e := range s.cfg.Services {
		for _, face := range interfaces() {
			ep := s.endpoint(c, e, face)
			ep["service_id"], ep["enabled"] = e.id(), true
			ep["links"] = s.self(c, "/endpoints/"+ep["id"].(string))
			out = append(out, ep)
		}
	}
	return out
}

func (s *Service) listRegions(c *call) (any, error) {
	return s.list(c, "regions", keep(c, s.regions(c), "parent_region_id")), nil
}

func (s *Service) listServices(c *call) (any, error) {
	return s.list(c, "services", keep(c, s.services(c), "type", "name")), nil
}

func (s *Service) listEndpoints(c *call) (any, error) {
	return s.list(c, "endpoints", keep(c, s.endpoints(c), "interface", "service_id", "region_id", "region")), nil
}

func (s *Service) showRegion(c *call) (any, error)   { return pick(c, "region", s.regions(c)) }
func (s *Service) showService(c *call) (any, error)  { return pick(c, "service", s.services(c)) }
func (s *Service) showEndpoint(c *call) (any, error) { return pick(c, "endpoint", s.endpoints(c)) }

// keep leaves the items that the query's filters match.
func keep(c *call, items []object, filters ...string) []object {
	var out []object
	for _, it := range items {
		if matches(c, it, filters...) {
			out = append(out, it)
		}
	}
	return out
}

// pick finds the item that the path names.
func pick(c *call, kind string, items []object) (any, error) {
	id := c.PathValue("id")
	for _, it := range items {
		if it["id"] == id {
			return object{kind: it}, nil
		}
	}
	return nil, notFound(kind, id)
}
