// Package fault gives errors the class by which the engine acts on them. A class is set at the edge, where the
// fault is still typed (a SOAP fault, an HTTP status, an errno), and is never guessed from a text.
// It must not know any driver.
package fault

import (
	"errors"
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
	Refused          = "Refused" // the other side refuses the request as it is (validation, admission)
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

func of(err error) (*Error, bool) {
	var e *Error
	ok := errors.As(err, &e)
	return e, ok
}

// ClassOf gives the class of err, or "" where nobody classed it.
func ClassOf(err error) Class {
	if e, ok := of(err); ok {
		return e.Class
	}
	return ""
}

// ReasonOf gives the reason of err, or "Unknown".
func ReasonOf(err error) string {
	if e, ok := of(err); ok && e.Reason != "" {
		return e.Reason
	}
	return "Unknown"
}

// HintOf gives the outermost hint of err, or "".
func HintOf(err error) string {
	for err != nil {
		e, ok := of(err)
		if !ok {
			return ""
		}
		if e.Hint != "" {
			return e.Hint
		}
		err = e.Err
	}
	return ""
}

// AfterOf gives the wait that the other side asked for, or 0.
func AfterOf(err error) time.Duration {
	if e, ok := of(err); ok {
		return e.After
	}
	return 0
}

// Is tells whether err has the reason.
func Is(err error, reason string) bool { return err != nil && ReasonOf(err) == reason }
