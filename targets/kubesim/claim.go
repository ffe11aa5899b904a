package kubesim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	annBindNow   = "cdi.kubevirt.io/storage.bind.immediate.requested"
	annSelected  = "volume.kubernetes.io/selected-node"
	annDefault   = "storageclass.kubernetes.io/is-default-class"
	provisioner  = "kubesim.csi"
	scratchAfter = "-scratch"
)

// playClaims is the provisioner, the binder and the protection of claims in use.
func (s *Server) playClaims(t tx) {
	for _, c := range t.list(&claims, "") {
		switch {
		case dying(c):
			for _, p := range t.list(&pods, namespace(c)) {
				if ownedBy(p, uid(c)) && s.ended(p) { // CDI's workers do not outlive the wish to have their claim gone
					t.delete(&pods, p, nil)
				}
			}
			if !t.inUse(c) && slices.Contains(finalizers(c), finalizerClaim) {
				t.finalize(&claims, c, finalizerClaim)
			}
		case str(c, "spec", "volumeName") == "":
			s.bind(t, c)
		}
	}
	for _, v := range t.list(&volumes, "") {
		c := t.get(&claims, str(v, "spec", "claimRef", "namespace"), str(v, "spec", "claimRef", "name"))
		if str(v, "spec", "csi", "driver") == provisioner && (c == nil || uid(c) != str(v, "spec", "claimRef", "uid")) {
			s.dropVolume(t, v)
		}
	}
	s.publishCapacity(t)
}

// ended tells whether a pod that was asked to end has done so.
func (s *Server) ended(pod object) bool {
	return s.cfg.Grace == 0 || str(pod, "status", "phase") != "Running" || s.pacer.passed("end "+uid(pod), float64(s.cfg.Grace)/float64(s.pacer.pace))
}

func (t tx) inUse(c object) bool {
	return slices.ContainsFunc(t.list(&pods, namespace(c)), func(p object) bool {
		if phase := str(p, "status", "phase"); phase == "Succeeded" || phase == "Failed" {
			return false
		}
		return slices.ContainsFunc(objects(at(p, "spec", "volumes")), func(v object) bool {
			return str(v, "persistentVolumeClaim", "claimName") == name(c)
		})
	})
}

func (s *Server) bind(t tx, c object) {
	class := str(c, "spec", "storageClassName")
	if class == "" {
		t.event(c, "Normal", "FailedBinding", "no persistent volumes available for this claim and no storage class is set")
		return
	}
	sc := t.get(&classes, "", class)
	if sc == nil {
		t.event(c, "Warning", "ProvisioningFailed", "storageclass.storage.k8s.io %q not found", class)
		return
	}
	if strings.HasSuffix(name(c), scratchAfter) && s.faults.forcedPhase(namespace(c), strings.TrimSuffix(name(c), scratchAfter)) == ScratchPending {
		return
	}
	_, now := sub(c, "metadata", "annotations")[annBindNow]
	if str(sc, "volumeBindingMode") == "WaitForFirstConsumer" && !now && annotation(c, annSelected) == "" {
		if t.inUse(c) {
			t.edit(&claims, c, func(c object) { set(c, s.cfg.Nodes[0].Name, "metadata", "annotations", annSelected) })
			return
		}
		t.event(c, "Normal", "WaitForFirstConsumer", "waiting for first consumer to be created before binding")
		return
	}
	if !s.pacer.passed("bind "+uid(c), 0.5) {
		return
	}
	size := quantity(str(c, "spec", "resources", "requests", "storage"))
	if free, limited := s.free(t, class); limited && size.Cmp(free) > 0 {
		t.event(c, "Warning", "ProvisioningFailed", "failed to provision volume with StorageClass %q: rpc error: code = ResourceExhausted desc = not enough free storage: requested %d, available %d", class, size.Value(), free.Value())
		return
	}
	pv := "pvc-" + uid(c)
	if err := os.MkdirAll(s.volumeDir(pv), 0o700); err != nil {
		t.event(c, "Warning", "ProvisioningFailed", "failed to provision volume with StorageClass %q: %v", class, err)
		return
	}
	v := newObject(&volumes, "", pv)
	set(v, object{"pv.kubernetes.io/provisioned-by": provisioner}, "metadata", "annotations")
	v["spec"] = object{
		"capacity": object{"storage": size.String()}, "accessModes": at(c, "spec", "accessModes"), "volumeMode": at(c, "spec", "volumeMode"),
		"storageClassName": class, "persistentVolumeReclaimPolicy": "Delete",
		"claimRef": object{"apiVersion": "v1", "kind": claims.name, "namespace": namespace(c), "name": name(c), "uid": uid(c)},
		"csi":      object{"driver": provisioner, "volumeHandle": pv},
	}
	set(v, "Bound", "status", "phase")
	t.put(&volumes, v)
	t.edit(&claims, c, func(c object) {
		set(c, pv, "spec", "volumeName")
		set(c, "yes", "metadata", "annotations", "pv.kubernetes.io/bind-completed")
		set(c, object{"phase": "Bound", "accessModes": at(c, "spec", "accessModes"), "capacity": object{"storage": size.String()}}, "status")
	})
	t.event(c, "Normal", "ProvisioningSucceeded", "Successfully provisioned volume %s", pv)
}

func (s *Server) volumeDir(pv string) string  { return filepath.Join(s.cfg.Dir, "volumes", pv) }
func (s *Server) volumeFile(pv string) string { return filepath.Join(s.volumeDir(pv), "disk.img") }

// dropVolume deletes a released volume with its bytes, and ends the upload that still writes them.
func (s *Server) dropVolume(t tx, v object) {
	s.endTransfer(str(v, "spec", "claimRef", "uid"))
	if err := os.RemoveAll(s.volumeDir(name(v))); err != nil {
		t.event(v, "Warning", "VolumeFailedDelete", "%v", err)
		return
	}
	t.drop(&volumes, v)
}

// free is what a class has left; limited is false for a class without end.
func (s *Server) free(t tx, class string) (resource.Quantity, bool) {
	c, ok := s.cfg.class(class)
	if !ok || c.Capacity == "" {
		return resource.Quantity{}, false
	}
	left := quantity(c.Capacity)
	for _, v := range t.list(&volumes, "") {
		if str(v, "spec", "storageClassName") == class {
			left.Sub(quantity(str(v, "spec", "capacity", "storage")))
		}
	}
	return left, true
}

func (s *Server) publishCapacity(t tx) {
	for _, c := range s.cfg.Classes {
		free, limited := s.free(t, c.Name)
		if !limited {
			continue
		}
		o := t.get(&capacities, "kube-system", "csisc-"+c.Name)
		if o == nil {
			o = newObject(&capacities, "kube-system", "csisc-"+c.Name)
			o["storageClassName"], o["nodeTopology"] = c.Name, object{}
		}
		t.edit(&capacities, o, func(o object) {
			o["capacity"], o["maximumVolumeSize"] = free.String(), free.String()
		})
	}
}
