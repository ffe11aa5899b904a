package trace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
)

// Names are those of the situations.
func Names() (all []string) {
	for _, s := range situations {
		all = append(all, s.name)
	}
	return all
}

// Record plays situations, all without names, and writes their traces into a folder. One that does not end as expected is told
// and written with the ending .failed.
func Record(ctx context.Context, l Lab, dir string, say func(format string, args ...any), names ...string) error {
	for _, n := range names {
		if !slices.Contains(Names(), n) {
			return fmt.Errorf("there is no situation %q; there are %s", n, strings.Join(Names(), ", "))
		}
	}
	k, err := kubernetes.NewForConfig(l.Config)
	if err != nil {
		return err
	}
	d, err := dynamic.NewForConfig(l.Config)
	if err != nil {
		return err
	}
	disk := image(32 << 20)
	url, stop, err := serve(l.Address, disk)
	if err != nil {
		return err
	}
	defer stop()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var (
		all    sync.WaitGroup
		mu     sync.Mutex
		failed []error
		places = make(chan struct{}, 3)
	)
	one := func(x situation) {
		s := &scene{Trace: &Trace{}, Lab: l, namespace: "trace-" + x.name, k: k, d: d, url: url, disk: disk}
		begun := time.Now()
		err := s.record(ctx, x, dir)
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", x.name, err))
		}
		say("%-24s %4.0f s  %v", x.name, time.Since(begun).Seconds(), err)
	}
	for _, alone := range []bool{false, true} {
		for _, x := range situations {
			if x.alone != alone || len(names) > 0 && !slices.Contains(names, x.name) {
				continue
			}
			if places <- struct{}{}; alone {
				one(x)
				<-places
				continue
			}
			all.Go(func() { one(x); <-places })
		}
		all.Wait()
	}
	return errors.Join(failed...)
}

func (s *scene) record(ctx context.Context, x situation, dir string) error {
	if err := s.open(ctx); err != nil {
		return err
	}
	watching, stop := context.WithCancel(ctx)
	err := x.play(watching, s)
	stop()
	path := filepath.Join(dir, x.name+".txt")
	if err != nil {
		path += ".failed"
	}
	return errors.Join(err, os.WriteFile(path, []byte("# "+x.what+"\n"+s.String()), 0o644), s.close(ctx))
}

// scratchClass sets the class of scratch claims, in JSON, and waits until CDI has it. Without one CDI takes the default class.
func (s *scene) scratchClass(ctx context.Context, to, want string) error {
	cdi := schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "cdis"}
	patch := fmt.Sprintf(`{"spec":{"config":{"scratchSpaceStorageClass":%s}}}`, to)
	if _, err := s.d.Resource(cdi).Patch(ctx, "cdi", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("set the class of scratch claims: %w", err)
	}
	config := cdi.GroupVersion().WithResource("cdiconfigs")
	for end := time.Now().Add(time.Minute); ; {
		u, err := s.d.Resource(config).Get(ctx, "config", metav1.GetOptions{})
		if err != nil {
			return err
		}
		have, _, _ := unstructured.NestedString(u.Object, "status", "scratchSpaceStorageClass")
		if have == want {
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("set the class of scratch claims: CDI still has %q", have)
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
}
