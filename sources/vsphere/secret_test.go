package vsphere_test

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"landfall/engine/fault"
)

// harmless fails if an error, in whatever way it is printed, tells the password or a session's cookie.
func harmless(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	all := fmt.Sprintf("%v %+v %#v %s", err, err, err, fault.HintOf(err))
	for e := err; e != nil; e = errors.Unwrap(e) {
		all += fmt.Sprintf(" %+v", e)
	}
	for _, s := range []string{password, url.QueryEscape(password), url.PathEscape(password), "not this one", "outdated", "vmware_soap_session"} {
		if strings.Contains(all, s) {
			t.Errorf("an error tells %q: %v", s, err)
		}
	}
}
