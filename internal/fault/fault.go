// Package fault is the vocabulary of failures that a client of the API may see. Whoever knows what a
// failure means makes a Fault, from the catalogue beside this file; rest alone turns kinds into statuses.
// It never carries an inner error's text to a client: Cause is for logs.
package fault

import (
	"errors"
	"fmt"
)

// Kind is the closed set of reasons a request can fail; rest owns the one map from Kind to HTTP status.
type Kind uint8

// The kinds. Internal is the zero value: what nobody classified is the server's fault.
const (
	Internal Kind = iota
	Invalid
	Unauthenticated
	Forbidden
	NotFound
	MethodNotAllowed
	Conflict
	OverQuota
	Precondition
	TooLarge
	NotImplemented
	Unavailable
)

// Fault is the only error type that the API shows. Name is the wire name that clients match on, such as "PortNotFound".
type Fault struct {
	Kind    Kind
	Name    string
	Message string
	Detail  string
	Cause   error
}

// Error is the name and the message, then the cause.
func (f *Fault) Error() string {
	if f.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", f.Name, f.Message, f.Cause)
	}
	return f.Name + ": " + f.Message
}

// Unwrap gives the cause.
func (f *Fault) Unwrap() error { return f.Cause }

// Because returns a copy of f with its cause set.
func (f *Fault) Because(err error) *Fault {
	g := *f
	g.Cause = err
	return &g
}

// Of finds the Fault in err's chain; an error without one is an Internal fault that keeps err as its cause.
// Of(nil) is nil.
func Of(err error) *Fault {
	if err == nil {
		return nil
	}
	var f *Fault
	if errors.As(err, &f) {
		return f
	}
	return &Fault{Kind: Internal, Name: "InternalServerError", Message: "The server could not finish the request.", Cause: err}
}

// Is tells whether err holds a fault of the kind.
func Is(err error, k Kind) bool {
	var f *Fault
	return errors.As(err, &f) && f.Kind == k
}

// Named tells whether err holds the fault with that wire name.
func Named(err error, name string) bool {
	var f *Fault
	return errors.As(err, &f) && f.Name == name
}

// IsNotFound tells whether err says that the thing asked for does not exist (or is hidden from the caller).
func IsNotFound(err error) bool { return Is(err, NotFound) }

// IsConflict tells whether err says that the present state forbids the request.
func IsConflict(err error) bool { return Is(err, Conflict) }

// Newf makes a fault that the catalogue does not hold; for the few whose name is composed at run time.
func Newf(k Kind, name, format string, args ...any) *Fault {
	return &Fault{Kind: k, Name: name, Message: fmt.Sprintf(format, args...)}
}

// BadInput is Neutron's InvalidInput: 400 with the reason in the message.
func BadInput(format string, args ...any) *Fault {
	return Newf(Invalid, "InvalidInput", "Invalid input for operation: "+format, args...)
}
