package kubesim

import (
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// workerName is what CDI calls the pod that fills a claim.
func workerName(dv *cdiv1.DataVolume) string {
	if dv.Spec.Source.Upload != nil {
		return "cdi-upload-" + dv.Name
	}
	return "importer-" + dv.Name
}

// equip makes the worker pod, its service and its scratch claim be as a frame shows them.
func (s *Server) equip(t tx, claim object, dv *cdiv1.DataVolume, f frame) error {
	n := workerName(dv)
	pod := t.get(&pods, dv.Namespace, n)
	if f.pod == "" {
		if pod != nil {
			t.delete(&pods, pod, nil)
		}
		return nil
	}
	if pod == nil {
		pod = owned(newObject(&pods, dv.Namespace, n), claim)
		set(pod, object{"app": "containerized-data-importer", "cdi.kubevirt.io": "cdi-" + map[bool]string{true: "upload-server", false: "importer"}[dv.Spec.Source.Upload != nil]}, "metadata", "labels")
		pod["spec"] = object{
			"restartPolicy": "OnFailure",
			"containers":    []any{object{"name": "importer", "image": "kubesim/cdi"}},
			"volumes":       []any{object{"name": "cdi-data-vol", "persistentVolumeClaim": object{"claimName": dv.Name}}},
		}
		if err := t.withinQuota(&pods, pod); err != nil {
			return err
		}
		pod = t.put(&pods, pod)
	}
	pod = t.edit(&pods, pod, func(c object) { set(c, f.pod, "status", "phase") })
	if !f.scratch || t.get(&claims, dv.Namespace, dv.Name+scratchAfter) != nil {
		return nil
	}
	c := owned(newObject(&claims, dv.Namespace, dv.Name+scratchAfter), pod)
	set(c, object{"app": "containerized-data-importer"}, "metadata", "labels")
	set(c, object{annBindNow: ""}, "metadata", "annotations")
	c["spec"] = object{
		"accessModes": []any{"ReadWriteOnce"}, "volumeMode": "Filesystem", "storageClassName": s.scratchClass(t, claim),
		"resources": at(claim, "spec", "resources"),
	}
	s.setDefaults(t, &claims, c)
	if err := t.withinQuota(&claims, c); err != nil {
		return err
	}
	t.put(&claims, c)
	return nil
}

// scratchClass is CDI's own, else the default one, else that of the claim.
func (s *Server) scratchClass(t tx, claim object) string {
	if s.cfg.ScratchClass != "" {
		return s.cfg.ScratchClass
	}
	if class := defaultClass(t); class != "" {
		return class
	}
	return str(claim, "spec", "storageClassName")
}
