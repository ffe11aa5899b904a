package kubesim_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"landfall/targets/kubesim"
)

func TestRunAnnouncesItselfAndIsSteeredFromOutside(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "cluster.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"dir":%q,"pace":"3ms","context":"demo","namespaces":["vms"],"nodes":[{"name":"a"},{"name":"b","noKVM":true}]}`, dir), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	over := make(chan error, 1)
	go func() { over <- kubesim.Run(ctx, io.Discard, config) }()
	ready := kubesim.Ready{}
	eventually(t, "the ready file", func() (bool, string) {
		var err error
		ready, err = kubesim.ReadReady(filepath.Join(dir, "ready.json"))
		return err == nil, fmt.Sprint(err)
	})
	cfg, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&clientcmd.ClientConfigLoadingRules{ExplicitPath: ready.Kubeconfig}, &clientcmd.ConfigOverrides{CurrentContext: "demo"}).ClientConfig()
	if err != nil {
		t.Fatal(err)
	}
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if nodes, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); err != nil || len(nodes.Items) != 2 {
		t.Errorf("%d nodes: %v", len(nodes.Items), err)
	}
	r := kubesim.Dial(ready.Control, ready.ControlToken)
	if err := r.Inject(ctx, kubesim.Fault{Verb: "list", Resource: "pods", Do: kubesim.Forbidden, After: time.Second}); err != nil {
		t.Fatal(err)
	}
	if list, err := r.Faults(ctx); err != nil || len(list) != 1 || list[0].After != time.Second || list[0].Times != 1 {
		t.Errorf("faults %+v: %v", list, err)
	}
	if _, err := c.CoreV1().Pods("vms").List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("list of pods: %v, want Forbidden", err)
	}
	if n, err := r.Counters(ctx); err != nil || n.Calls["list nodes"] != 1 || n.Calls["list pods"] != 1 {
		t.Errorf("counters %+v: %v", n, err)
	}
	for name, err := range map[string]error{
		"deny": r.Deny(ctx, kubesim.Rule{Verbs: []string{"list"}, Resources: []string{"nodes"}}), "force": r.Force(ctx, "vms", "d", "Failed"), "backend": r.SetBackend(ctx, "vms", "v", "127.0.0.1:1"),
		"pace": r.SetPace(ctx, time.Millisecond), "tokens": r.ExpireTokens(ctx), "trim": r.TrimHistory(ctx), "clear": r.ClearFaults(ctx),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := c.CoreV1().Nodes().List(ctx, metav1.ListOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("denied list: %v", err)
	}
	if _, running, err := r.Guest(ctx, "vms", "v"); running || err != nil {
		t.Errorf("guest runs %t: %v", running, err)
	}
	if _, err := r.Volume(ctx, "vms", "d"); err == nil || !strings.Contains(err.Error(), "vms/d") {
		t.Errorf("volume that is not there: %v", err)
	}
	if _, err := kubesim.Dial(ready.Control, "guess").Counters(ctx); err == nil {
		t.Error("a stranger steers the cluster")
	}
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if _, err := kubesim.ReadReady(filepath.Join(dir, "ready.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the end the ready file is there: %v", err)
	}
}

func TestConfigurationsThatAreRefused(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"unknown field", `{"dir":"x","nodez":[]}`, `unknown field "nodez"`},
		{"no folder", `{}`, "dir is missing"},
		{"pace is no duration", `{"dir":"x","pace":"fast"}`, `invalid duration "fast"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c.json")
			if err := os.WriteFile(path, []byte(row.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := kubesim.ReadConfig(path); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("read: %v, want %q", err, row.want)
			}
		})
	}
	_, err := kubesim.Start(t.Context(), kubesim.Config{Dir: t.TempDir(), Nodes: []kubesim.Node{{Name: "n", Memory: "lots"}}})
	if err == nil || !strings.Contains(err.Error(), `memory of node n is "lots"`) {
		t.Errorf("start: %v", err)
	}
}
