package kubesim

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// playDataVolumes is CDI's controller.
func (s *Server) playDataVolumes(t tx) {
	for _, o := range t.list(&datavolumes, "") {
		if dying(o) {
			continue
		}
		dv, err := typed[cdiv1.DataVolume](o)
		if err != nil {
			t.event(o, "Warning", "Error", "%v", err)
			continue
		}
		s.playDataVolume(t, o, dv)
	}
}

func (s *Server) scriptOf(dv *cdiv1.DataVolume) []frame {
	switch {
	case dv.Spec.Source == nil:
		return nil
	case dv.Spec.Source.Upload != nil:
		return uploadScript
	case dv.Spec.Source.HTTP != nil:
		if s.cfg.SlowScheduler {
			return importScript
		}
		return slices.DeleteFunc(slices.Clone(importScript), func(f frame) bool { return f.slow })
	}
	return blankScript
}

func (s *Server) playDataVolume(t tx, o object, dv *cdiv1.DataVolume) {
	ns, n := dv.Namespace, dv.Name
	if forced := s.faults.forcedPhase(ns, n); forced != "" && forced != ScratchPending && forced != RestartLoop {
		s.show(t, o, forcedFrame(forced))
		return
	}
	claim := t.get(&claims, ns, n)
	if claim == nil && dv.Status.Phase == cdiv1.Succeeded {
		return // a claim that is deleted after the fact is not made again
	}
	if claim == nil {
		if !s.pacer.passed("claim "+uid(o), 1) {
			if str(o, "status", "phase") == "" {
				s.show(t, o, unfound)
			}
			return
		}
		if claim = s.makeClaim(t, o, dv); claim == nil {
			return
		}
	}
	if !ownedBy(claim, uid(o)) {
		t.event(o, "Warning", "ErrResourceExists", "Resource %q already exists and is not managed by DataVolume", n)
		return
	}
	run := t.get(&transfers, ns, n)
	if run == nil {
		run = owned(newObject(&transfers, ns, n), o)
		run["step"], run["fails"], run["received"], run["image"] = int64(0), int64(0), false, int64(0)
		run = t.put(&transfers, run)
	}
	script := s.scriptOf(dv)
	step, fails := min(run["step"].(int64), int64(len(script)-1)), run["fails"].(int64)
	now := script[step]
	if step == 0 && waitsForConsumer(t, claim) {
		now.phase = "WaitForFirstConsumer"
		if str(claim, "status", "phase") == "Pending" {
			s.show(t, o, now)
			return
		}
	}
	if fails > 0 {
		now = failing(script[step], fails, str(run, "message"))
	} else if now.until == fetched {
		now.progress = s.progress(dv, now.progress)
	} else if lacks := missing(t, dv); now.until == furnished && lacks != "" {
		now.running, now.message = "False/CreateContainerConfigError", fmt.Sprintf("secret %q not found", lacks)
	}
	if err := s.equip(t, claim, dv, now); err != nil {
		t.event(o, "Warning", cdiQuota(err), "%v", err)
		return
	}
	o = s.show(t, o, now)
	s.advance(t, o, dv, claim, run, script)
}

// missing is the secret without which the importer's container cannot be made, "" if it lacks none. What is mounted into the
// pod only keeps it at ContainerCreating.
func missing(t tx, dv *cdiv1.DataVolume) string {
	if src := dv.Spec.Source; src != nil && src.HTTP != nil && src.HTTP.SecretRef != "" && t.get(&secrets, dv.Namespace, src.HTTP.SecretRef) == nil {
		return src.HTTP.SecretRef
	}
	return ""
}

func waitsForConsumer(t tx, claim object) bool {
	sc := t.get(&classes, "", str(claim, "spec", "storageClassName"))
	_, now := sub(claim, "metadata", "annotations")[annBindNow]
	return sc != nil && str(sc, "volumeBindingMode") == "WaitForFirstConsumer" && !now
}

func forcedFrame(phase string) frame {
	f := frame{phase: phase, progress: na, bound: yes, ready: off, running: off}
	if phase == "Failed" {
		f.running, f.message = "False/Error", "Unable to process data: the fault script forced this DataVolume to fail"
	}
	return f
}

// advance goes to the next frame once what the script waits for is true.
func (s *Server) advance(t tx, o object, dv *cdiv1.DataVolume, claim, run object, script []frame) {
	step, fails := min(run["step"].(int64), int64(len(script)-1)), run["fails"].(int64)
	next := func(step, fails int64, message string) {
		t.edit(&transfers, run, func(c object) {
			c["step"], c["fails"], c["message"] = step, fails, message
		})
	}
	key := fmt.Sprintf("dv %s %d %d", uid(o), step, fails)
	if fails > 0 && !retrying(fails) && !s.pacer.passed(key, float64(min(fails, 16))) {
		return
	}
	if fails > 0 && !retrying(fails) {
		next(step, fails+1, str(run, "message"))
		return
	}
	switch script[step].until {
	case ended:
		return
	case bound:
		if str(claim, "status", "phase") != "Bound" {
			return
		}
	case scratch:
		c := t.get(&claims, dv.Namespace, dv.Name+scratchAfter)
		if c == nil || str(c, "status", "phase") != "Bound" {
			return
		}
	case furnished:
		if missing(t, dv) != "" {
			return
		}
	case received:
		if run["received"] != true {
			return
		}
	case probed, fetched, copied:
		ok, err := s.work(t, dv, claim, script[step].until)
		if err != nil && script[step].until == copied && dv.Spec.Source.HTTP != nil {
			next(step-1, 1, complaint(err)) // what was fetched is lost; the importer begins again
			return
		}
		if err != nil {
			next(step, fails+1, complaint(err))
			return
		}
		if !ok {
			return
		}
	}
	if fails == 0 && script[step].until != furnished && !s.pacer.passed(key, 1) {
		return
	}
	if script[step].until == copied {
		s.imageOf(t, claim, run)
		run = t.get(&transfers, dv.Namespace, dv.Name)
	}
	next(step+1, 0, "")
	if script[step+1].until == ended {
		s.finish(t, o, dv, claim)
	}
}

// complaint is what CDI makes of an importer's last words: it has one sentence for all that does not fit.
func complaint(err error) string {
	if errors.Is(err, errTooLarge) || errors.Is(err, errNoRoom) {
		return tooSmall
	}
	return "Unable to " + err.Error()
}

func (s *Server) finish(t tx, o object, dv *cdiv1.DataVolume, claim object) {
	if dv.Spec.Source.Upload != nil {
		t.event(claim, "Warning", "UploadSucceeded", "Upload Complete")
		t.event(o, "Normal", "UploadSucceeded", "Successfully uploaded into %s", dv.Name)
		return
	}
	t.event(claim, "Warning", "ImportSucceeded", "Import Complete")
	t.event(o, "Normal", "ImportSucceeded", "Successfully imported into PVC %s", dv.Name)
}

// show writes a frame into the status.
func (s *Server) show(t tx, o object, f frame) object {
	now := s.cfg.Now()
	return t.edit(&datavolumes, o, func(c object) {
		st := sub(c, "status")
		if st == nil {
			st = object{}
			c["status"] = st
		}
		st["phase"], st["progress"], st["claimName"] = f.phase, f.progress, name(o)
		if f.progress == "" {
			delete(st, "progress")
		}
		delete(st, "restartCount")
		if f.restarts > 0 {
			st["restartCount"] = f.restarts
		}
		list := objects(st["conditions"])
		for _, x := range []struct{ kind, text, message string }{{"Bound", f.bound, f.boundMessage(name(o))}, {"Ready", f.ready, f.refusal}, {"Running", f.running, f.message}} {
			status, reason, _ := strings.Cut(x.text, "/")
			list = condition(list, now, x.kind, status, reason, x.message)
			for _, y := range list {
				if y["lastHeartbeatTime"] == nil {
					y["lastHeartbeatTime"] = stamp(now)
				}
			}
		}
		st["conditions"] = anys(list)
	})
}

// makeClaim creates the claim of a DataVolume, or says why there is none.
func (s *Server) makeClaim(t tx, o object, dv *cdiv1.DataVolume) object {
	c := owned(newObject(&claims, dv.Namespace, dv.Name), o)
	set(c, textMap(dv.Labels), "metadata", "labels")
	set(c, "containerized-data-importer", "metadata", "labels", "app")
	set(c, textMap(dv.Annotations), "metadata", "annotations")
	set(c, "kubevirt", "metadata", "annotations", "cdi.kubevirt.io/storage.contentType")
	if dv.Spec.Source != nil && dv.Spec.Source.Upload != nil {
		set(c, "", "metadata", "annotations", "cdi.kubevirt.io/storage.upload.target")
	}
	spec, err := s.claimSpec(t, dv)
	if err == nil {
		c["spec"] = spec
		s.setDefaults(t, &claims, c)
		if err = t.withinLimits(&claims, c); err == nil {
			err = t.withinQuota(&claims, c)
		}
	}
	if err != nil {
		reason := cdiQuota(err)
		t.event(o, "Warning", reason, "%v", err)
		s.show(t, o, refusedClaim(reason, err.Error()))
		return nil
	}
	return t.put(&claims, c)
}

func cdiQuota(err error) string {
	if apierrors.IsForbidden(err) {
		return "ErrExceededQuota"
	}
	return "ErrClaimNotValid"
}

// claimSpec renders spec.pvc, or spec.storage with what the StorageProfile says.
func (s *Server) claimSpec(t tx, dv *cdiv1.DataVolume) (object, error) {
	if dv.Spec.PVC != nil {
		return untyped(dv.Spec.PVC), nil
	}
	st := dv.Spec.Storage
	class := defaultClass(t)
	if st.StorageClassName != nil {
		class = *st.StorageClassName
	}
	if class == "" {
		return nil, errors.New("PVC spec is missing storage class and no default storage class is set")
	}
	spec := untyped(st)
	spec["storageClassName"] = class
	sets := objects(at(t.get(&profiles, "", class), "status", "claimPropertySets"))
	if st.VolumeMode == nil && len(sets) > 0 {
		spec["volumeMode"] = sets[0]["volumeMode"]
	}
	if len(st.AccessModes) == 0 {
		if len(sets) == 0 {
			return nil, fmt.Errorf("PVC spec is missing accessMode and no storageProfile to choose profile: no accessMode specified in StorageProfile %s", class)
		}
		spec["accessModes"] = sets[0]["accessModes"]
	}
	if spec["volumeMode"] == nil || spec["volumeMode"] == string(corev1.PersistentVolumeFilesystem) {
		overhead := defaultOverhead
		if c, ok := s.cfg.class(class); ok {
			overhead = c.overhead()
		}
		size := st.Resources.Requests[corev1.ResourceStorage]
		set(spec, fmt.Sprint(inflated(size.Value(), overhead)), "resources", "requests", "storage")
	}
	return spec, nil
}
