package kubesim_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"landfall/targets/kubesim"
)

// impatient is a client that does not try again by itself.
func impatient(t *testing.T, s *kubesim.Server) *kubernetes.Clientset {
	t.Helper()
	cfg := s.RESTConfig("")
	cfg.Timeout = 10 * time.Second
	c, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCallsThatFail(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := impatient(t, s).CoreV1().ConfigMaps(ns)
	for _, row := range []struct {
		do string
		is func(error) bool
	}{
		{kubesim.Conflict, apierrors.IsConflict},
		{kubesim.Invalid, apierrors.IsInvalid},
		{kubesim.Throttle, apierrors.IsTooManyRequests},
		{kubesim.Internal, apierrors.IsInternalError},
		{kubesim.Unavailable, apierrors.IsServiceUnavailable},
		{kubesim.Forbidden, apierrors.IsForbidden},
		{kubesim.Cut, func(err error) bool { return apierrors.ReasonForError(err) == metav1.StatusReasonUnknown }},
	} {
		t.Run(row.do, func(t *testing.T) {
			s.Inject(kubesim.Fault{Verb: "create", Resource: "configmaps", Name: "", Do: row.do})
			_, err := c.Create(t.Context(), configMap(row.do, nil), metav1.CreateOptions{})
			if err == nil || !row.is(err) {
				t.Errorf("create: %v", err)
			}
			if _, err := c.Get(t.Context(), row.do, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
				t.Errorf("after the failure the object is there: %v", err)
			}
			if _, err := c.Create(t.Context(), configMap(row.do, nil), metav1.CreateOptions{}); err != nil {
				t.Errorf("the fault acted twice: %v", err)
			}
		})
	}
}

func TestCallsThatLie(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := impatient(t, s).CoreV1().ConfigMaps(ns)
	there := func(name string) bool {
		_, err := c.Get(t.Context(), name, metav1.GetOptions{})
		return err == nil
	}
	inject := func(verb, do string, after time.Duration) {
		s.Inject(kubesim.Fault{Verb: verb, Resource: "configmaps", Do: do, After: after})
	}
	t.Run("accepts and does nothing", func(t *testing.T) {
		inject("create", kubesim.Nothing, 0)
		if made, err := c.Create(t.Context(), configMap("nothing", nil), metav1.CreateOptions{}); err != nil || made.UID == "" {
			t.Errorf("create: %v, %v", err, made)
		}
		if there("nothing") {
			t.Error("the object is there")
		}
	})
	t.Run("does it late", func(t *testing.T) {
		inject("create", kubesim.Late, 50*time.Millisecond)
		if _, err := c.Create(t.Context(), configMap("late", nil), metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		if there("late") {
			t.Error("the object is there at once")
		}
		eventually(t, "the late object", func() (bool, string) { return there("late"), "not there" })
	})
	t.Run("does it twice", func(t *testing.T) {
		inject("create", kubesim.Twice, 0)
		if _, err := c.Create(t.Context(), configMap("twice", nil), metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			t.Errorf("create: %v, want the second answer", err)
		}
		named := configMap("", nil)
		named.GenerateName = "many-"
		inject("create", kubesim.Twice, 0)
		if _, err := c.Create(t.Context(), named, metav1.CreateOptions{}); err != nil {
			t.Error(err)
		}
		list, err := c.List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, o := range list.Items {
			if o.GenerateName == "many-" {
				n++
			}
		}
		if n != 2 {
			t.Errorf("%d objects were made, want 2", n)
		}
	})
	t.Run("does it and does not say so", func(t *testing.T) {
		inject("create", kubesim.Lost, 0)
		if _, err := c.Create(t.Context(), configMap("lost", nil), metav1.CreateOptions{}); err == nil {
			t.Error("the answer was not lost")
		}
		if !there("lost") {
			t.Error("the object is not there")
		}
	})
	t.Run("deletes nothing", func(t *testing.T) {
		inject("delete", kubesim.Nothing, 0)
		if err := c.Delete(t.Context(), "lost", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
		if !there("lost") {
			t.Error("the object is gone")
		}
	})
	t.Run("is slow", func(t *testing.T) {
		inject("get", kubesim.Slow, 80*time.Millisecond)
		begin := time.Now()
		if !there("lost") || time.Since(begin) < 80*time.Millisecond {
			t.Errorf("the slow call took %v", time.Since(begin))
		}
	})
	t.Run("skips some", func(t *testing.T) {
		s.Inject(kubesim.Fault{Verb: "get", Resource: "configmaps", Do: kubesim.Internal, Skip: 1, Times: 2})
		var got string
		for range 4 {
			got += fmt.Sprint(there("lost"), " ")
		}
		if got != "true false false true " {
			t.Errorf("calls succeeded %s", got)
		}
	})
}

func TestWatchesThatEnd(t *testing.T) {
	s := start(t, kubesim.Config{})
	c := impatient(t, s).CoreV1().ConfigMaps(ns)
	list, err := c.List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	open := func() watch.Interface {
		w, err := c.Watch(t.Context(), metav1.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(w.Stop)
		return w
	}
	w := open()
	s.Inject(kubesim.Fault{Verb: "watch", Resource: "configmaps", Do: kubesim.Expire})
	if e := next(t, w); e.Type != watch.Error || !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) {
		t.Errorf("watch gave %v, want 410 Expired", e)
	}
	s.Inject(kubesim.Fault{Verb: "watch", Resource: "configmaps", Do: kubesim.Cut, Events: 1})
	w = open()
	if _, err := c.Create(t.Context(), configMap("a", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if e := next(t, w); e.Type != watch.Added {
		t.Errorf("watch gave %v before the cut", e)
	}
	select {
	case e, ok := <-w.ResultChan():
		if ok && e.Type != watch.Error {
			t.Errorf("watch gave %v after the cut", e)
		}
	case <-time.After(10 * time.Second):
		t.Error("the watch was not cut")
	}
}
