package trace

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// name is the DataVolume's in every situation.
const name = "disk"

// scene is where one situation is played: a namespace of its own.
type scene struct {
	*Trace
	Lab
	namespace string
	k         kubernetes.Interface
	d         dynamic.Interface
	url       string // of the server that has the image
	disk      []byte
}

// Lab is what a recording has to know of the lab.
type Lab struct {
	Config                     *rest.Config
	Address                    string // that pods reach this process at
	CDI                        string // its namespace
	Immediate, Waiting, Barren string // storage classes
	Shell                      string // an image with a shell
	Volumes                    string // the folder that has a folder for each PersistentVolume
}

// make makes an object in the scene's namespace, written in YAML.
func (s *scene) make(ctx context.Context, resource string, format string, args ...any) error {
	b, err := yaml.YAMLToJSON(fmt.Appendf(nil, format, args...))
	if err != nil {
		return err
	}
	u := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(b, &u.Object); err != nil {
		return err
	}
	gvr := u.GroupVersionKind().GroupVersion().WithResource(resource)
	_, err = s.d.Resource(gvr).Namespace(s.namespace).Create(ctx, u, metav1.CreateOptions{})
	return err
}

// dataVolume makes the DataVolume and follows it.
func (s *scene) dataVolume(ctx context.Context, source, size, class string) error {
	if err := s.watch(ctx, s.d, s.namespace, name); err != nil {
		return err
	}
	s.Did("create a DataVolume of %s, source %s", size, strings.NewReplacer(s.url, "http://SERVER").Replace(source))
	return s.make(ctx, "datavolumes", `{apiVersion: cdi.kubevirt.io/v1beta1, kind: DataVolume, metadata: {name: %s},
spec: {source: %s, pvc: {accessModes: [ReadWriteOnce], storageClassName: %s, resources: {requests: {storage: %s}}}}}`, name, source, class, size)
}

// until waits until the DataVolume is as it is wanted.
func (s *scene) until(ctx context.Context, most time.Duration, want func(phase string, restarts int64) bool) error {
	for end := time.Now().Add(most); ; {
		u, _ := s.newest()
		phase, restarts := "", int64(0)
		if u != nil {
			phase, _, _ = unstructured.NestedString(u.Object, "status", "phase")
			restarts, _, _ = unstructured.NestedInt64(u.Object, "status", "restartCount")
			if want(phase, restarts) {
				return nil
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("the DataVolume was not as expected within %s: %s, %d restarts", most, phase, restarts)
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

func reaches(want string) func(string, int64) bool {
	return func(phase string, _ int64) bool { return phase == want }
}

// quiet waits until nothing has changed for a while, and says so in the trace.
func (s *scene) quiet(ctx context.Context, d time.Duration) error {
	for {
		if _, since := s.newest(); since > d {
			s.Did("wait %s: nothing more", d)
			return nil
		}
		if err := sleep(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

// arrived compares the claim's disk with what was sent: the same bytes, and nothing but zeros after them.
func (s *scene) arrived(ctx context.Context) error {
	c, err := s.k.CoreV1().PersistentVolumeClaims(s.namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	path := filepath.Join(s.Volumes, c.Spec.VolumeName, "disk.img")
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if len(b) < len(s.disk) || !bytes.Equal(b[:len(s.disk)], s.disk) || len(bytes.Trim(b[len(s.disk):], "\x00")) > 0 {
		return fmt.Errorf("%s is not what was sent", path)
	}
	s.Did("compare disk.img with what was sent: the same, and zeros up to %d MiB", len(b)>>20)
	return nil
}

// settle gives the last states of an end time to be seen.
func (s *scene) settle(ctx context.Context) error { return sleep(ctx, 3*time.Second) }

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// open makes the scene's namespace, empty.
func (s *scene) open(ctx context.Context) error {
	if err := s.close(ctx); err != nil {
		return err
	}
	for {
		_, err := s.k.CoreV1().Namespaces().Get(ctx, s.namespace, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err := sleep(ctx, 200*time.Millisecond); err != nil {
			return err
		}
	}
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": s.namespace}}}
	_, err := s.d.Resource(u.GroupVersionKind().GroupVersion().WithResource("namespaces")).Create(ctx, u, metav1.CreateOptions{})
	return err
}

func (s *scene) close(ctx context.Context) error {
	err := s.k.CoreV1().Namespaces().Delete(ctx, s.namespace, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
