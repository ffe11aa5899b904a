package kubevirt

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"landfall/engine/fault"
)

// reasonBusy is an API server, or something before it, that asks to come again later.
const reasonBusy = "ServerBusy"

// classify gives what the cluster answered its class. doing is the operation as a person reads it: "create datavolume
// vms/web-disk-0".
func classify(doing string, err error) error {
	if err == nil {
		return nil
	}
	var done *fault.Error
	if errors.As(err, &done) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	wrapped := fmt.Errorf("%s: %w", doing, err)
	if errors.Is(err, context.Canceled) {
		return fault.New(fault.Transient, fault.Interrupted, wrapped)
	}
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return ofStatus(doing, err, wrapped)
	}
	return ofConnection(wrapped)
}

func ofStatus(doing string, err, wrapped error) error {
	class := func(c fault.Class, reason, hint string) error {
		return fault.Hint(fault.New(c, reason, wrapped), "%s", hint)
	}
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return fault.New(fault.Transient, fault.Conflict, wrapped)
	case apierrors.IsUnauthorized(err):
		return class(fault.Blocked, fault.WrongCredentials, "log in to the cluster again, or renew the credentials in the kubeconfig")
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return class(fault.Blocked, fault.NotFound, "the namespace is being deleted: choose another, or create it again when it is gone")
	case apierrors.IsForbidden(err):
		return ofForbidden(doing, err, class)
	case apierrors.IsNotFound(err):
		return ofMissing(err, class)
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err), apierrors.IsRequestEntityTooLargeError(err),
		apierrors.IsMethodNotSupported(err), apierrors.IsNotAcceptable(err), apierrors.IsUnsupportedMediaType(err):
		return class(fault.Blocked, fault.Refused, "the cluster refuses the object as it is: its words say which field or policy")
	}
	busy := fault.New(fault.Transient, reasonBusy, wrapped)
	if s, ok := apierrors.SuggestsClientDelay(err); ok && s > 0 {
		busy = fault.RetryAfter(busy, time.Duration(s)*time.Second)
	}
	return busy
}

// ofForbidden tells three refusals apart that the API gives one reason. Neither a spent quota nor a webhook's veto has a
// mark of its own in the status, so this is the one place where the words decide.
func ofForbidden(doing string, err error, class func(fault.Class, string, string) error) error {
	words := err.Error()
	switch {
	case strings.Contains(words, "exceeded quota"):
		return class(fault.Blocked, fault.QuotaExceeded, "raise the namespace's quota or free what it counts, then retry")
	case strings.Contains(words, "admission webhook"), strings.Contains(words, "violates PodSecurity"), strings.Contains(words, "ValidatingAdmissionPolicy"):
		return class(fault.Blocked, fault.Refused, "a policy of the cluster refuses it: its words say which")
	}
	return class(fault.Blocked, fault.NoPermission, "this kubeconfig's user may not "+doing+": grant the verb (docs list all that are used), or use another context")
}

// absent tells whether the cluster said that an object is not there. A 404 that is no answer of the Kubernetes API (a path
// that is not served, a proxy on the way) says nothing about the object.
func absent(err error) bool {
	return apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseTypeUnexpectedServerResponse)
}

func ofMissing(err error, class func(fault.Class, string, string) error) error {
	var s apierrors.APIStatus
	_ = errors.As(err, &s)
	d := s.Status().Details
	switch {
	case d != nil && d.Kind == "namespaces":
		return class(fault.Blocked, fault.NotFound, fmt.Sprintf("create namespace %q or name another in spec.destination.namespace", bounded(d.Name, 63)))
	case d == nil || d.Name == "" || !absent(err):
		return class(fault.Blocked, fault.Unsupported, "the cluster does not serve this API: are KubeVirt and CDI installed?")
	}
	return class(fault.Transient, fault.NotFound, "it was deleted meanwhile")
}

func ofConnection(err error) error {
	var (
		unverified *tls.CertificateVerificationError
		unknown    x509.UnknownAuthorityError
		hostname   x509.HostnameError
		invalid    x509.CertificateInvalidError
		record     tls.RecordHeaderError
		netErr     net.Error
	)
	switch {
	case errors.As(err, &unverified), errors.As(err, &unknown), errors.As(err, &hostname), errors.As(err, &invalid):
		hint := "check certificate-authority in the kubeconfig"
		if unverified != nil && len(unverified.UnverifiedCertificates) > 0 {
			hint = "the server showed a certificate with SHA-256 " + fingerprint(unverified.UnverifiedCertificates[0]) + "; " + hint
		}
		return fault.Hint(fault.New(fault.Blocked, fault.Certificate, err), "%s", hint)
	case errors.As(err, &record):
		return fault.Hint(fault.New(fault.Transient, fault.Unreachable, err), "what answers does not speak TLS: check the address and any proxy")
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed):
		return fault.Hint(fault.New(fault.Transient, fault.Unreachable, err), "is the API server's address right and reachable from this host?")
	}
	return fault.New(fault.Transient, "Unknown", err)
}

// bounded cuts what another wrote, so that it cannot flood a record.
func bounded(s string, n int) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
