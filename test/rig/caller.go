package rig

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Caller sends requests to a server without authentication, in somebody's name. It is safe for concurrent use.
type Caller struct {
	TB      testing.TB
	URL     string // scheme, address and port
	Project string
	Roles   string // as X-Roles; "": an administrator
	Client  *http.Client
}

// As is the same caller under another name.
func (c Caller) As(project, roles string) Caller {
	c.Project, c.Roles = project, roles
	return c
}

// Answer is what came back.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Err    error // the request got no answer at all
}

// Fault is the type in an error body, "" for other answers.
func (a Answer) Fault() string {
	var body map[string]struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(a.Body, &body) != nil {
		return ""
	}
	return body["NeutronError"].Type + body["NotImplementedError"].Type // one of them
}

// Object is the answer decoded; nil when it is no JSON object.
func (a Answer) Object() map[string]any {
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber()
	var m map[string]any
	if d.Decode(&m) != nil {
		return nil
	}
	return m
}

// Under is a member of the answer that is an object.
func (a Answer) Under(name string) map[string]any {
	m, _ := a.Object()[name].(map[string]any) //nolint:errcheck // nil says it
	return m
}

// Items are the objects of a list in the answer.
func (a Answer) Items(name string) []map[string]any {
	list, _ := a.Object()[name].([]any) //nolint:errcheck // nil says it
	out := make([]map[string]any, 0, len(list))
	for _, v := range list {
		if m, ok := v.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Send sends a request below /v2.0 (or at a path that begins with "/v2.0" or is "/") with the given bytes and headers.
func (c Caller) Send(method, path string, body []byte, header map[string]string) Answer {
	if !strings.HasPrefix(path, "/v2.0") && path != "/" {
		path = "/v2.0" + path
	}
	return c.Raw(method, path, body, header)
}

// Raw sends a request to exactly this path.
func (c Caller) Raw(method, path string, body []byte, header map[string]string) Answer {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(body)
	}
	req, err := http.NewRequestWithContext(c.TB.Context(), method, c.URL+path, content)
	if err != nil {
		return Answer{Err: err}
	}
	req.Header.Set("X-Project-Id", c.Project)
	req.Header.Set("X-User-Id", "u-"+c.Project)
	if c.Roles != "" {
		req.Header.Set("X-Roles", c.Roles)
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	client := c.Client
	if client == nil {
		client = http.DefaultClient
	}
	resp, err := client.Do(req)
	if err != nil {
		return Answer{Err: err}
	}
	data, err := io.ReadAll(resp.Body)
	if cerr := resp.Body.Close(); err == nil {
		err = cerr
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: data, Err: err}
}

// Do sends a value as JSON; nil is no body, a string is sent as it is.
func (c Caller) Do(method, path string, body any) Answer {
	switch v := body.(type) {
	case nil:
		return c.Send(method, path, nil, nil)
	case string:
		return c.Send(method, path, []byte(v), nil)
	}
	text, err := json.Marshal(body)
	if err != nil {
		return Answer{Err: err}
	}
	return c.Send(method, path, text, nil)
}

// Make creates a resource and gives what the server says of it; anything but 201 ends the test.
func (c Caller) Make(path, name string, attributes map[string]any) map[string]any {
	c.TB.Helper()
	a := c.Do(http.MethodPost, path, map[string]any{name: attributes})
	if a.Err != nil || a.Status != http.StatusCreated {
		c.TB.Fatalf("POST %s %v: %d %s %v", path, attributes, a.Status, a.Body, a.Err)
	}
	return a.Under(name)
}

// Get reads one resource; anything but 200 ends the test.
func (c Caller) Get(path, name string) map[string]any {
	c.TB.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Err != nil || a.Status != http.StatusOK {
		c.TB.Fatalf("GET %s: %d %s %v", path, a.Status, a.Body, a.Err)
	}
	return a.Under(name)
}

// List reads a collection; anything but 200 ends the test.
func (c Caller) List(path, name string) []map[string]any {
	c.TB.Helper()
	a := c.Do(http.MethodGet, path, nil)
	if a.Err != nil || a.Status != http.StatusOK {
		c.TB.Fatalf("GET %s: %d %s %v", path, a.Status, a.Body, a.Err)
	}
	return a.Items(name)
}
