package kubevirt

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"landfall/engine/fault"
	"landfall/engine/spec"
)

// kubeconfig gives the connection that the destination names, and the name of its context. It never falls back to a
// local or in-cluster address: what is not written in a file is an error that says where was looked.
func kubeconfig(d spec.Destination, getenv func(string) string, home string) (*rest.Config, string, error) {
	files := kubeconfigFiles(d, getenv, home)
	where := strings.Join(files, ", ")
	rules := clientcmd.ClientConfigLoadingRules{Precedence: files}
	if err := anyExists(files); err != nil {
		return nil, "", unusable("read kubeconfig: %w", err)
	}
	cfg, err := rules.Load()
	if err != nil {
		return nil, "", unusable("read kubeconfig %s: %w", where, err)
	}
	name := d.Context
	if name == "" {
		name = cfg.CurrentContext
	}
	if name == "" {
		return nil, "", unusable("kubeconfig %s has no current context: name one in spec.destination.context (there are: %s)", where, names(cfg.Contexts))
	}
	kctx, ok := cfg.Contexts[name]
	if !ok {
		return nil, "", unusable("kubeconfig %s has no context %q (there are: %s)", where, name, names(cfg.Contexts))
	}
	if err := complete(cfg, name, kctx); err != nil {
		return nil, "", unusable("kubeconfig %s: %w", where, err)
	}
	rc, err := clientcmd.NewNonInteractiveClientConfig(*cfg, name, &clientcmd.ConfigOverrides{}, &rules).ClientConfig()
	if err != nil {
		return nil, "", unusable("kubeconfig %s, context %q: %w", where, name, err)
	}
	return rc, name, nil
}

func unusable(format string, args ...any) error {
	return fault.Newf(fault.Blocked, "Kubeconfig", format, args...)
}

func kubeconfigFiles(d spec.Destination, getenv func(string) string, home string) []string {
	if d.Kubeconfig != "" {
		if rest, ok := strings.CutPrefix(d.Kubeconfig, "~/"); ok && home != "" {
			return []string{filepath.Join(home, rest)}
		}
		return []string{d.Kubeconfig}
	}
	if list := getenv("KUBECONFIG"); list != "" {
		return slices.DeleteFunc(filepath.SplitList(list), func(s string) bool { return s == "" })
	}
	return []string{filepath.Join(home, ".kube", "config")}
}

// anyExists lets a list of several files have gaps, as kubectl does, but not be all gaps.
func anyExists(files []string) error {
	var errs []error
	for _, f := range files {
		_, err := os.Stat(f)
		if err == nil {
			return nil
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%s does not exist", f)
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return errors.New("KUBECONFIG names no file")
	}
	return errors.Join(errs...)
}

func complete(cfg *api.Config, name string, c *api.Context) error {
	cluster, ok := cfg.Clusters[c.Cluster]
	if !ok || cluster == nil {
		return fmt.Errorf("context %q names cluster %q, which is not there (there are: %s)", name, c.Cluster, names(cfg.Clusters))
	}
	if cluster.Server == "" {
		return fmt.Errorf("cluster %q of context %q has no server address", c.Cluster, name)
	}
	if _, ok := cfg.AuthInfos[c.AuthInfo]; c.AuthInfo != "" && !ok {
		return fmt.Errorf("context %q names user %q, who is not there (there are: %s)", name, c.AuthInfo, names(cfg.AuthInfos))
	}
	return nil
}

func names[T any](m map[string]T) string {
	if len(m) == 0 {
		return "none"
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
}
