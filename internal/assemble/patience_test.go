package assemble

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestSlowBodies: a body that does not come ends its connection; one that came costs a request that works for longer than
// bodies may take nothing, nor the connection's next request.
func TestSlowBodies(t *testing.T) {
	const patience = 200 * time.Millisecond
	srv := httptest.NewServer(patient(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusRequestTimeout)
			return
		}
		select { // at work
		case <-r.Context().Done():
			http.Error(w, "given up", http.StatusInternalServerError)
		case <-time.After(3 * patience):
		}
	}), patience))
	defer srv.Close()

	c, err := net.Dial("tcp", srv.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	if err := c.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(c) // to the connection's end
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 408") {
		t.Fatalf("answer %q, %v", answer, err)
	}

	for range 2 { // on one connection
		resp, err := srv.Client().Post(srv.URL, "text/plain", strings.NewReader("whole"))
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(resp.Body)
		if err != nil || resp.Body.Close() != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s %q, %v", resp.Status, said, err)
		}
	}
}
