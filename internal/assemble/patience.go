package assemble

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// bodyPatience is how long a request's body may take. Bodies are read before anything else is done for a request, its
// credentials included, so whoever sends one byte and waits would keep his connection for ever.
const bodyPatience = time.Minute

// patient gives every body a deadline. http.Server's ReadTimeout would do so too, but goes on after the body and
// ends requests that are long at work.
func patient(next http.Handler, patience time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		conn := http.NewResponseController(w)
		// What cannot have a deadline (a recorder in a test) has no client that waits either. The wall clock is the
		// kernel's here, whatever clock the rest goes by.
		if conn.SetReadDeadline(time.Now().Add(patience)) == nil {
			r.Body = &patientBody{ReadCloser: r.Body, conn: conn}
		}
		next.ServeHTTP(w, r)
	})
}

// patientBody takes its deadline away when it has been read to its end. One that is not has its deadline until the
// server, which drains it, waits for the connection's next request.
type patientBody struct {
	io.ReadCloser
	conn *http.ResponseController
}

func (b *patientBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.conn.SetReadDeadline(time.Time{})
	}
	return n, err
}
