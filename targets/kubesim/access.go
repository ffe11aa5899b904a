package kubesim

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Rule names calls by what RBAC would ask. An empty list and "*" mean any.
type Rule struct {
	Verbs      []string `json:"verbs"`
	Groups     []string `json:"groups"`
	Resources  []string `json:"resources"` // plural, with "/subresource" where there is one
	Namespaces []string `json:"namespaces"`
	Names      []string `json:"names"`
}

// attributes are one question to the authorizer.
type attributes struct{ verb, group, resource, subresource, namespace, name string }

func (a attributes) full() string {
	if a.subresource == "" {
		return a.resource
	}
	return a.resource + "/" + a.subresource
}

func (r Rule) matches(a attributes) bool {
	one := func(list []string, v string) bool {
		return len(list) == 0 || slices.Contains(list, "*") || slices.Contains(list, v)
	}
	return one(r.Verbs, a.verb) && one(r.Groups, a.group) && one(r.Resources, a.full()) && one(r.Namespaces, a.namespace) && one(r.Names, a.name)
}

func (s *Server) user(name string) (User, bool) {
	for _, u := range s.users {
		if u.Name == name {
			return u, true
		}
	}
	return User{}, false
}

// authenticate finds whom a bearer token belongs to.
func (s *Server) authenticate(header string) (User, bool) {
	token, ok := strings.CutPrefix(header, "Bearer ")
	if !ok {
		return User{}, false
	}
	for _, u := range s.users {
		if u.Token == token {
			return u, true
		}
	}
	return User{}, false
}

// allowed is asked for calls and for access reviews alike, so that the two agree.
func (s *Server) allowed(u User, a attributes) bool {
	s.accessMu.Lock()
	defer s.accessMu.Unlock()
	matches := func(r Rule) bool { return r.matches(a) }
	if slices.ContainsFunc(u.Deny, matches) || slices.ContainsFunc(s.denied, matches) {
		return false
	}
	return len(u.Allow) == 0 || slices.ContainsFunc(u.Allow, matches) || a.group == "authorization.k8s.io" || a.group == "authentication.k8s.io"
}

// Deny takes these calls away from every user, in place of what an earlier Deny took; without rules it gives all back.
func (s *Server) Deny(rules ...Rule) {
	s.accessMu.Lock()
	defer s.accessMu.Unlock()
	s.denied = slices.Clone(rules)
}

func forbidden(u User, a attributes) error {
	where := " at the cluster scope"
	if a.namespace != "" {
		where = fmt.Sprintf(" in the namespace %q", a.namespace)
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: a.group, Resource: a.resource}, a.name,
		fmt.Errorf("User %q cannot %s resource %q in API group %q%s", u.Name, a.verb, a.full(), a.group, where)) //nolint:staticcheck // the API server's own words
}
