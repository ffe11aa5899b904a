package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	virt "kubevirt.io/api/core/v1"
)

var instances = schema.GroupVersionResource{Group: "kubevirt.io", Version: "v1", Resource: "virtualmachineinstances"}

// handler runs the guests of one node.
type handler struct {
	node, dir   string
	instances   dynamic.NamespaceableResourceInterface
	nodes, core kubernetes.Interface
	guests      map[string]*guest // by uid of the instance
	beat        time.Time
}

// serve looks at everything once a second until ctx ends, and then ends the guests with it.
func (h *handler) serve(ctx context.Context) error {
	defer func() {
		for _, g := range h.guests {
			g.cut()
		}
	}()
	for {
		if err := h.look(ctx); err != nil && ctx.Err() == nil {
			log.Print(err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

func (h *handler) look(ctx context.Context) error {
	if err := h.heartbeat(ctx); err != nil {
		return err
	}
	list, err := h.instances.List(ctx, metav1.ListOptions{LabelSelector: virt.NodeNameLabel + "=" + h.node})
	if err != nil {
		return fmt.Errorf("list the node's instances: %w", err)
	}
	seen := map[string]bool{}
	var failed []error
	for _, u := range list.Items {
		seen[string(u.GetUID())] = true
		if err := h.reconcile(ctx, &u); err != nil {
			failed = append(failed, fmt.Errorf("instance %s/%s: %w", u.GetNamespace(), u.GetName(), err))
		}
	}
	for _, uid := range slices.Collect(maps.Keys(h.guests)) {
		if !seen[uid] {
			h.forget(uid)
		}
	}
	return errors.Join(failed...)
}

// forget ends a guest that nobody asks for any longer.
func (h *handler) forget(uid string) {
	if g := h.guests[uid]; g != nil {
		g.cut()
		delete(h.guests, uid)
	}
}

func (h *handler) reconcile(ctx context.Context, was *unstructured.Unstructured) error {
	vmi := &virt.VirtualMachineInstance{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(was.Object, vmi); err != nil {
		return fmt.Errorf("read it: %w", err)
	}
	uid := string(vmi.UID)
	g := h.guests[uid]
	do := decide(sightOf(vmi, g))
	var said report
	var trouble error
	switch do {
	case nothing:
		return nil
	case forget:
		h.forget(uid)
		return nil
	case start:
		g, trouble = h.start(ctx, vmi)
		said = report{phase: virt.Running, trouble: trouble}
		if trouble != nil {
			said.phase = vmi.Status.Phase
		} else {
			h.guests[uid] = g
		}
	case follow:
		trouble = h.forward(ctx, vmi, g)
		said = report{phase: virt.Running}
	case shutDown:
		g.shutDown(time.Now(), vmi.Spec.TerminationGracePeriodSeconds)
		return nil
	case tellSucceeded:
		said = report{phase: virt.Succeeded}
	case tellFailed:
		said = report{phase: virt.Failed, reason: g.why()}
	}
	if g != nil {
		said.address, said.agent = g.pod.address, g.agent()
	}
	now := was.DeepCopy()
	if err := said.write(now, vmi, time.Now()); err != nil {
		return errors.Join(trouble, err)
	}
	if !same(was, now) {
		if _, err := h.instances.Namespace(vmi.Namespace).Update(ctx, now, metav1.UpdateOptions{}); err != nil && !apierrors.IsConflict(err) {
			return errors.Join(trouble, fmt.Errorf("tell how it does: %w", err))
		}
		if said.phase != vmi.Status.Phase {
			log.Printf("instance %s/%s: %s → %s %s", vmi.Namespace, vmi.Name, vmi.Status.Phase, said.phase, said.reason)
		}
	}
	return trouble
}

// heartbeat tells virt-controller that the node can be used.
func (h *handler) heartbeat(ctx context.Context) error {
	if time.Since(h.beat) < time.Minute {
		return nil
	}
	b := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q},"labels":{%q:"true"}}}`, virt.VirtHandlerHeartbeat, time.Now().UTC().Format(time.RFC3339), virt.NodeSchedulable)
	if _, err := h.nodes.CoreV1().Nodes().Patch(ctx, h.node, types.StrategicMergePatchType, b, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("tell that node %s can be used: %w", h.node, err)
	}
	h.beat = time.Now()
	return nil
}
