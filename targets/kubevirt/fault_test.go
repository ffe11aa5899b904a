package kubevirt

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"landfall/engine/fault"
)

func TestClassify(t *testing.T) {
	vms := schema.GroupResource{Group: "kubevirt.io", Resource: "virtualmachines"}
	terminating := apierrors.NewForbidden(vms, "web", errors.New("namespace vms is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	for _, c := range []struct {
		what   string
		err    error
		class  fault.Class
		reason string
		after  time.Duration
		hint   string
	}{
		{"conflict", apierrors.NewConflict(vms, "web", nil), fault.Transient, fault.Conflict, 0, ""},
		{"exists", apierrors.NewAlreadyExists(vms, "web"), fault.Transient, fault.Conflict, 0, ""},
		{"too many", apierrors.NewTooManyRequests("slow down", 7), fault.Transient, reasonBusy, 7 * time.Second, ""},
		{"server timeout", apierrors.NewServerTimeout(vms, "get", 3), fault.Transient, reasonBusy, 3 * time.Second, ""},
		{"internal", apierrors.NewInternalError(errors.New("etcd")), fault.Transient, reasonBusy, 0, ""},
		{"expired", apierrors.NewResourceExpired("too old"), fault.Transient, reasonBusy, 0, ""},
		{"forbidden", apierrors.NewForbidden(vms, "web", errors.New(`User "u" cannot create`)), fault.Blocked, fault.NoPermission, 0, "create virtualmachine vms/web"},
		{"quota", apierrors.NewForbidden(vms, "web", errors.New("exceeded quota: q")), fault.Blocked, fault.QuotaExceeded, 0, "quota"},
		{"terminating", terminating, fault.Blocked, fault.NotFound, 0, "deleted"},
		{"namespace gone", apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "vms"), fault.Blocked, fault.NotFound, 0, `"vms"`},
		{"object gone", apierrors.NewNotFound(vms, "web"), fault.Transient, fault.NotFound, 0, ""},
		{"API gone", apierrors.NewGenericServerResponse(404, "get", vms, "web", "404 page not found", 0, true), fault.Blocked, fault.Unsupported, 0, "CDI"},
		{"invalid", apierrors.NewInvalid(schema.GroupKind{Kind: "VirtualMachine"}, "web", nil), fault.Blocked, fault.Refused, 0, ""},
		{"bad request", apierrors.NewBadRequest("no"), fault.Blocked, fault.Refused, 0, ""},
		{"unauthorized", apierrors.NewUnauthorized("no"), fault.Blocked, fault.WrongCredentials, 0, "log in"},
		{"unknown authority", fmt.Errorf("get: %w", x509.UnknownAuthorityError{}), fault.Blocked, fault.Certificate, 0, "certificate"},
		{"refused connection", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, fault.Transient, fault.Unreachable, 0, "reachable"},
		{"cut", io.ErrUnexpectedEOF, fault.Transient, fault.Unreachable, 0, ""},
		{"too late", context.DeadlineExceeded, fault.Transient, fault.Unreachable, 0, ""},
		{"stopped by us", context.Canceled, fault.Transient, fault.Interrupted, 0, ""},
		{"classed already", fault.Newf(fault.Permanent, fault.Damaged, "bad"), fault.Permanent, fault.Damaged, 0, ""},
		{"never heard of", errors.New("?"), fault.Transient, "Unknown", 0, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			err := classify("create virtualmachine vms/web", c.err)
			if fault.ClassOf(err) != c.class || fault.ReasonOf(err) != c.reason || fault.AfterOf(err) != c.after {
				t.Errorf("got %s, %s, %s", fault.ClassOf(err), fault.ReasonOf(err), fault.AfterOf(err))
			}
			if !strings.Contains(fault.HintOf(err), c.hint) || !strings.HasPrefix(err.Error(), "create virtualmachine vms/web: ") || !errors.Is(err, c.err) {
				t.Errorf("got %v, hint %q", err, fault.HintOf(err))
			}
		})
	}
	if classify("x", nil) != nil {
		t.Error("no error became one")
	}
}

func TestAbsent(t *testing.T) {
	vms := schema.GroupResource{Resource: "virtualmachines"}
	if !absent(apierrors.NewNotFound(vms, "web")) {
		t.Error("the cluster said that it is not there")
	}
	// A proxy on the way that answers 404 says nothing about the machine.
	if absent(apierrors.NewGenericServerResponse(404, "get", vms, "web", "<html>", 0, true)) {
		t.Error("a 404 of no API was taken for absence")
	}
}

func TestReadsZstd(t *testing.T) {
	for v, want := range map[string]bool{"v1.58.0": true, "1.61.1": true, "v2.0.0": true, "v1.65.0-rc1": true, "v1.57.1": false, "v0.99": false, "": false, "latest": false} {
		if readsZstd(v) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}
