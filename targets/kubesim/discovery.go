package kubesim

import (
	"net/http"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/version"
)

var serverVersion = version.Info{
	Major: "1", Minor: "34", GitVersion: "v1.34.4", GitTreeState: "clean", GoVersion: "go1.24.11", Compiler: "gc", Platform: "linux/amd64",
}

// subresources that have no stored kind behind them.
var subresources = map[string][]metav1.APIResource{
	"v1": {
		{Name: "pods/proxy", Namespaced: true, Kind: "PodProxyOptions", Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}},
		{Name: "pods/portforward", Namespaced: true, Kind: "PodPortForwardOptions", Verbs: metav1.Verbs{"create", "get"}},
		{Name: "services/proxy", Namespaced: true, Kind: "ServiceProxyOptions", Verbs: metav1.Verbs{"create", "delete", "get", "patch", "update"}},
	},
	groupSubres + "/v1": {
		{Name: "virtualmachines/start", Namespaced: true, Kind: "VirtualMachine", Verbs: metav1.Verbs{"update"}},
		{Name: "virtualmachines/stop", Namespaced: true, Kind: "VirtualMachine", Verbs: metav1.Verbs{"update"}},
		{Name: "virtualmachines/restart", Namespaced: true, Kind: "VirtualMachine", Verbs: metav1.Verbs{"update"}},
		{Name: "virtualmachineinstances/guestosinfo", Namespaced: true, Kind: "VirtualMachineInstance", Verbs: metav1.Verbs{"get"}},
	},
}

// discover answers what clients ask to find out which resources there are; false means that it was another question.
func (s *Server) discover(w http.ResponseWriter, r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case len(parts) == 1 && parts[0] == "api":
		writeJSON(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
	case len(parts) == 1 && parts[0] == "apis":
		list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
		list.Groups = append(list.Groups, s.groups()...)
		writeJSON(w, http.StatusOK, list)
	case len(parts) == 2 && parts[0] == "api":
		s.resources(w, parts[1])
	case len(parts) == 2 && parts[0] == "apis":
		i := slices.IndexFunc(s.groups(), func(g metav1.APIGroup) bool { return g.Name == parts[1] })
		if i < 0 {
			notServed(w)
			return true
		}
		g := s.groups()[i]
		g.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
		writeJSON(w, http.StatusOK, g)
	case len(parts) == 3 && parts[0] == "apis":
		s.resources(w, parts[1]+"/"+parts[2])
	default:
		return false
	}
	return true
}

func (s *Server) groups() []metav1.APIGroup {
	var out []metav1.APIGroup
	add := func(group, v string) {
		if group == "" || !s.cfg.served(group) || slices.ContainsFunc(out, func(g metav1.APIGroup) bool { return g.Name == group }) {
			return
		}
		gv := metav1.GroupVersionForDiscovery{GroupVersion: group + "/" + v, Version: v}
		out = append(out, metav1.APIGroup{Name: group, Versions: []metav1.GroupVersionForDiscovery{gv}, PreferredVersion: gv})
	}
	for _, k := range catalog {
		if !k.hidden {
			add(k.group, k.version)
		}
	}
	add(groupSubres, "v1")
	return out
}

func (s *Server) resources(w http.ResponseWriter, gv string) {
	list := metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
	for _, k := range catalog {
		if k.hidden || k.apiVersion() != gv || !s.cfg.served(k.group) {
			continue
		}
		list.APIResources = append(list.APIResources, metav1.APIResource{
			Name: k.plural, SingularName: strings.ToLower(k.name), Namespaced: !k.global, Kind: k.name, Verbs: k.verbs(), ShortNames: k.short,
		})
		if k.status {
			list.APIResources = append(list.APIResources, metav1.APIResource{
				Name: k.plural + "/status", Namespaced: !k.global, Kind: k.name, Verbs: metav1.Verbs{"get", "patch", "update"},
			})
		}
	}
	group, _, _ := strings.Cut(gv, "/")
	if gv == "v1" || s.cfg.served(group) {
		list.APIResources = append(list.APIResources, subresources[gv]...)
	}
	if len(list.APIResources) == 0 {
		notServed(w)
		return
	}
	writeJSON(w, http.StatusOK, list)
}
