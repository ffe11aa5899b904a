// Package fault gives errors the class by which the engine acts on them. A class is set at the edge, where the
// fault is still typed (a SOAP fault, an HTTP status, an errno), and is never guessed from a text.
// It must not know any driver.
package fault

import (
	"fmt"
	"time"
)

// Class says what may be done about an error.
type Class string

const (
	// Transient may pass by itself: the same step is tried again with backoff.
	Transient Class = "Transient"
	// Blocked needs a person: nothing automatic happens.
	Blocked Class = "Blocked"
	// Permanent can be mended by nobody: the migration ends as Failed.
	Permanent Class = "Permanent"
)

// Reasons that more than one package acts on. A reason is one CamelCase word, stable across releases.
const (
	NotFound         = "NotFound"         // the object does not exist
	VMRuns           = "VMRuns"           // the disk is held because the VM runs
	NotAuthenticated = "NotAuthenticated" // the session ended or the password is wrong
	WrongCredentials = "WrongCredentials" // the endpoint refused user or password; trying again could lock the account
	Certificate      = "Certificate"      // the certificate is unknown, expired or not the pinned one
	NoPermission     = "NoPermission"     // a privilege or verb is missing
	Restricted       = "RestrictedVersion"
	EarlyEnd         = "EarlyEnd" // a stream ended cleanly before the promised length
	NoSpace          = "NoSpace"  // no room for data
	NotOurs          = "NotOurs"  // an object with our name that another made
	Conflict         = "Conflict" // changed under us; look again
	Unsupported      = "Unsupported"
	QuotaExceeded    = "QuotaExceeded"
	SizeChanged      = "SizeChanged" // the source disk is not the size that was recorded
	Unreachable      = "Unreachable"
	Interrupted      = "Interrupted" // stopped by us; costs no attempt
	ToolsUnavailable = "ToolsUnavailable"
	Damaged          = "Damaged" // bytes are not what was recorded
	Capacity         = "Capacity"
	NoKVM            = "NoKVM"
	QuiesceFailed    = "QuiesceFailed" // the guest could not be brought to rest for a snapshot
	TrackingLost     = "TrackingLost"  // a change id is no longer known: the whole disk must be read
	Refused          = "Refused"       // the other side refuses the request as it is (validation, admission)
)

// Error is an error with a class, a stable reason, and a hint that says what to try next.
type Error struct {
	Class  Class
	Reason string
	Hint   string
	// After is how long the other side asked us to wait (Retry-After); 0 if it did not.
	After time.Duration
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// New classes err. A nil err gives nil.
func New(class Class, reason string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Class: class, Reason: reason, Err: err}
}

// Newf is New with a formatted error; %w wraps.
func Newf(class Class, reason, format string, args ...any) error {
	return &Error{Class: class, Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Hint adds what a person may do about err; the class and reason stay.
func Hint(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return &Error{Class: ClassOf(err), Reason: ReasonOf(err), After: AfterOf(err), Hint: fmt.Sprintf(format, args...), Err: err}
}

// RetryAfter adds the wait that the other side asked for.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &Error{Class: ClassOf(err), Reason: ReasonOf(err), Hint: HintOf(err), After: d, Err: err}
}

// unknown is the reason of an error that has none.
const unknown = "Unknown"

// each visits the classed errors in the error, the outermost first and joined ones in their order, until visit gives true.
// It takes every link by itself, which errors.As does not offer.
func each(err any, visit func(*Error) bool) bool {
	if e, ok := err.(*Error); ok && visit(e) {
		return true
	}
	switch w := err.(type) {
	case interface{ Unwrap() error }:
		return each(w.Unwrap(), visit)
	case interface{ Unwrap() []error }:
		for _, err := range w.Unwrap() {
			if each(err, visit) {
				return true
			}
		}
	}
	return false
}

// ClassOf gives the class of err, or "" where nobody classed it.
func ClassOf(err error) (c Class) {
	each(err, func(e *Error) bool { c = e.Class; return c != "" })
	return c
}

// ReasonOf gives the reason of err, or "Unknown".
func ReasonOf(err error) string {
	reason := unknown
	each(err, func(e *Error) bool {
		if e.Reason == "" || e.Reason == unknown {
			return false
		}
		reason = e.Reason
		return true
	})
	return reason
}

// HintOf gives the outermost hint of err, or "".
func HintOf(err error) (hint string) {
	each(err, func(e *Error) bool { hint = e.Hint; return hint != "" })
	return hint
}

// AfterOf gives the longest wait that the other side asked for, or 0.
func AfterOf(err error) (after time.Duration) {
	each(err, func(e *Error) bool { after = max(after, e.After); return false })
	return after
}

// Is tells whether err has the reason.
func Is(err error, reason string) bool { return err != nil && ReasonOf(err) == reason }
