package vsphere

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"strings"
	"syscall"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"

	"landfall/engine/fault"
)

// Reasons of this source alone.
const (
	Busy         = "Busy"         // the endpoint has no room for another session or request just now
	ServerError  = "ServerError"  // the endpoint failed inside
	InvalidState = "InvalidState" // the VM is in a state that does not allow the act
	InProgress   = "TaskInProgress"
	Stalled      = "Stalled" // a stream brought no bytes for too long
)

// failed says what was being done and gives the cause its class, while it is still typed. Unknown faults are
// Transient: everything that goes through here only looks.
func failed(err error, host, format string, args ...any) error {
	if err == nil {
		return nil
	}
	e, _ := classify(err, host)
	e.Err = fmt.Errorf(format+": %w", append(args, e.Err)...)
	return e
}

// actFailed is failed for what changes a VM: there, a fault that nobody knows is for a person.
func actFailed(err error, host, format string, args ...any) error {
	if err == nil {
		return nil
	}
	e, known := classify(err, host)
	if !known {
		e.Class = fault.Blocked
	}
	e.Err = fmt.Errorf(format+": %w", append(args, e.Err)...)
	return e
}

// classify gives class, reason and hint, and whether the cause was known by its type.
func classify(err error, host string) (_ *fault.Error, known bool) {
	var done *fault.Error
	if errors.As(err, &done) {
		return &fault.Error{Class: done.Class, Reason: done.Reason, Hint: fault.HintOf(err), After: done.After, Err: err}, true
	}
	if name, text, f := soapFault(err); f != nil {
		e, known := classifyFault(f, name, text)
		return e, known
	}
	// The URL that net/http puts before its errors says nothing that the operation does not.
	var at *url.Error
	if errors.As(err, &at) {
		err = at.Err
	}
	if e := classifyHTTP(err, host); e != nil {
		return e, true
	}
	if e := classifyTLS(err, host); e != nil {
		return e, true
	}
	if e := classifyNet(err, host); e != nil {
		return e, true
	}
	return &fault.Error{Class: fault.Transient, Reason: "Unknown", Err: err}, false
}

// soapFault finds a vSphere fault in any of the shapes in which one arrives: as a SOAP fault, as a task's error, as
// a property that could not be read.
func soapFault(err error) (name, text string, f types.BaseMethodFault) {
	if text, ok := vimfault.As(err, &f); ok && f != nil {
		t := reflect.TypeOf(f)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if text == "" && soap.IsSoapFault(err) {
			text = soap.ToSoapFault(err).String
		}
		return t.Name(), text, f
	}
	return "", "", nil
}

func classifyFault(f types.BaseMethodFault, name, text string) (*fault.Error, bool) {
	said := name
	if text != "" {
		said = name + ": " + text
	}
	e := func(class fault.Class, reason, hint string) (*fault.Error, bool) {
		return &fault.Error{Class: class, Reason: reason, Hint: hint, Err: errors.New(said)}, true
	}
	switch t := f.(type) {
	case *types.NotAuthenticated:
		return e(fault.Transient, fault.NotAuthenticated, "the session ended; a new one is made at the next try")
	case *types.InvalidLogin:
		return e(fault.Blocked, fault.WrongCredentials, "check user name and password; no further try is made with this password, so that the account is not locked")
	case *types.NoPermission:
		said = "no permission: " + missing(t)
		return e(fault.Blocked, fault.NoPermission, "give the user a role with this privilege on the VM, its host and its datastores: "+missing(t))
	case *types.RestrictedVersion, *types.RestrictedByAdministrator, *types.LicenseRestricted, *types.LicenseExpired:
		return e(fault.Blocked, fault.Restricted,
			"the host's licence forbids changes through the API: shut the VM down in the host's own client; looking and reading its disks still work once it is off")
	case *types.InvalidPowerState:
		said = fmt.Sprintf("the VM is %s", t.ExistingState)
		if t.ExistingState == types.VirtualMachinePowerStateSuspended {
			return e(fault.Blocked, InvalidState, "a suspended VM must be resumed and shut down first, or its memory is lost")
		}
		return e(fault.Transient, InvalidState, "")
	case *types.ToolsUnavailable:
		return e(fault.Blocked, fault.ToolsUnavailable, "the guest's tools do not run: shut the guest down by hand, or allow a hard power-off")
	case *types.TooManySnapshotLevels:
		return e(fault.Blocked, fault.Refused, "the VM has as many snapshots as the host allows: remove some that are not needed")
	case *types.TaskInProgress:
		return e(fault.Transient, InProgress, "another task works on the VM; wait for it to end")
	case *types.ManagedObjectNotFound:
		return e(fault.Blocked, fault.NotFound, "look whether it was removed, or registered anew under another id")
	case *types.FileNotFound:
		return e(fault.Blocked, fault.NotFound, "look whether the file was moved or deleted")
	case *types.FileLocked:
		return e(fault.Transient, fault.VMRuns, "the file is held by a running VM or a backup")
	case *types.HostNotConnected, *types.HostNotReachable, *types.HostCommunication:
		return e(fault.Transient, fault.Unreachable, "vCenter does not reach the host")
	case *types.InvalidState, *types.ConcurrentAccess, *types.ResourceInUse:
		return e(fault.Transient, InvalidState, "")
	case *types.Timedout, *types.RequestCanceled, *types.SystemError:
		return e(fault.Transient, ServerError, "")
	case *types.NotSupported, *types.MethodNotFound, *types.NotImplemented, *types.MethodDisabled:
		return e(fault.Blocked, fault.Unsupported, "")
	}
	return &fault.Error{Class: fault.Transient, Reason: name, Err: errors.New(said)}, false
}

// missing names the privileges that a NoPermission fault asks for.
func missing(f *types.NoPermission) string {
	var names []string
	if f.PrivilegeId != "" {
		names = append(names, f.PrivilegeId)
	}
	for _, p := range f.MissingPrivileges {
		for _, id := range p.PrivilegeIds {
			if !strings.Contains(strings.Join(names, ","), id) {
				names = append(names, id)
			}
		}
	}
	if len(names) == 0 {
		return "a privilege that the endpoint does not name"
	}
	return strings.Join(names, ", ")
}

// statusError is an HTTP answer that is no answer to the question.
type statusError struct {
	code int
	wait time.Duration
}

func (e *statusError) Error() string {
	return fmt.Sprintf("the endpoint answered HTTP %d %s", e.code, http.StatusText(e.code))
}

func classifyHTTP(err error, host string) *fault.Error {
	var s *statusError
	if !errors.As(err, &s) {
		return nil
	}
	e := &fault.Error{Err: s, After: s.wait}
	switch s.code {
	case http.StatusUnauthorized:
		e.Class, e.Reason, e.Hint = fault.Transient, fault.NotAuthenticated, "the session ended; a new one is made at the next try"
	case http.StatusForbidden:
		e.Class, e.Reason, e.Hint = fault.Blocked, fault.NoPermission, "give the user a role with Datastore.Browse and Datastore.FileManagement on the datastore"
	case http.StatusNotFound:
		e.Class, e.Reason, e.Hint = fault.Blocked, fault.NotFound, "look whether "+host+" is an ESXi host or a vCenter, and whether the file is still there"
	case http.StatusRequestedRangeNotSatisfiable:
		e.Class, e.Reason, e.Hint = fault.Blocked, fault.SizeChanged, "the file is shorter than its descriptor says"
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		e.Class, e.Reason, e.Hint = fault.Transient, Busy, "the endpoint has too many sessions or requests; fewer connections may help (maxConnections)"
	default:
		e.Class, e.Reason = fault.Transient, ServerError
		if s.code < 500 {
			e.Class, e.Reason, e.Hint = fault.Blocked, fault.Refused, "look whether "+host+" is an ESXi host or a vCenter"
		}
	}
	return e
}

func classifyTLS(err error, host string) *fault.Error {
	blocked := func(c *CertificateError, hint string) *fault.Error {
		return &fault.Error{Class: fault.Blocked, Reason: fault.Certificate, Hint: hint, Err: c}
	}
	var pin *CertificateError
	if errors.As(err, &pin) {
		return blocked(pin, "compare the value seen with what the host's own console shows; if the certificate was renewed, trust it anew")
	}
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		c := &CertificateError{Address: host, Err: verify.Err}
		if len(verify.UnverifiedCertificates) > 0 {
			c.Seen = Thumbprint(verify.UnverifiedCertificates[0])
		}
		hint := "compare the SHA-256 with what the host's own console shows, then pin it as spec.source.tls.thumbprint: " + c.Seen
		var name x509.HostnameError
		if errors.As(verify.Err, &name) {
			hint = "address the host by a name that is in its certificate, or pin it as spec.source.tls.thumbprint: " + c.Seen
		}
		return blocked(c, hint)
	}
	var record tls.RecordHeaderError
	if errors.As(err, &record) {
		return &fault.Error{Class: fault.Transient, Reason: fault.Unreachable, Err: err, Hint: host + " does not speak TLS there: check the port"}
	}
	return nil
}

func classifyNet(err error, host string) *fault.Error {
	unreachable := func(hint string) *fault.Error {
		return &fault.Error{Class: fault.Transient, Reason: fault.Unreachable, Hint: hint, Err: err}
	}
	var dns *net.DNSError
	var syntax *xml.SyntaxError
	var shape xml.UnmarshalError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, context.Canceled):
		return &fault.Error{Class: fault.Transient, Reason: fault.Interrupted, Err: err}
	case errors.As(err, &dns):
		return unreachable("the name " + host + " is not known here: check the address and the name server")
	case errors.Is(err, syscall.ECONNREFUSED):
		return unreachable(host + " is there but nothing listens: check the address and the port (443)")
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return unreachable(host + " does not answer: check the address, and firewalls on the way to port 443")
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return unreachable("there is no way to " + host + " from here: check the address and the network")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, net.ErrClosed):
		return unreachable("the connection to " + host + " was cut")
	case errors.As(err, &syntax), errors.As(err, &shape):
		return &fault.Error{Class: fault.Blocked, Reason: fault.Refused, Err: fmt.Errorf("the answer is not vSphere's: %w", err),
			Hint: "look whether " + host + " is an ESXi host or a vCenter"}
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return unreachable("check the address " + host + " and the network")
	}
	return nil
}
