package kubesim

import (
	"fmt"
	"net/url"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
)

// admitDataVolume is CDI's validating webhook for the sources that the simulator can play.
func admitDataVolume(o, old object) error {
	if old != nil {
		return nil // the spec cannot change
	}
	dv, err := typed[cdiv1.DataVolume](o)
	if err != nil {
		return err
	}
	return denied("datavolume-validate.cdi.kubevirt.io", dataVolumeCauses(&dv.Spec))
}

func dataVolumeCauses(spec *cdiv1.DataVolumeSpec) []cause {
	one := func(field, format string, args ...any) []cause { return []cause{invalidCause(field, format, args...)} }
	switch {
	case spec.PVC == nil && spec.Storage == nil:
		return one("spec.PVC", "Missing Data volume PVC")
	case spec.PVC != nil && spec.Storage != nil:
		return one("spec.PVC.Storage", "Duplicate storage definition, both target storage and target pvc defined")
	case spec.PVC != nil:
		if c := sizeCause(spec.PVC.Resources.Requests, "PVC"); c != nil {
			return c
		}
		switch len(spec.PVC.AccessModes) {
		case 0:
			return one("spec.PVC.accessModes", "Required value: at least 1 access mode is required")
		case 1:
		default:
			return one("spec.PVC.accessModes", "PVC multiple accessModes")
		}
		if c := accessCause(spec.PVC.AccessModes, "spec.PVC.accessModes"); c != nil {
			return c
		}
	default:
		if c := sizeCause(spec.Storage.Resources.Requests, "Storage"); c != nil {
			return c
		}
		if c := accessCause(spec.Storage.AccessModes, "spec.PVC.accessModes"); c != nil {
			return c
		}
	}
	if (spec.Source == nil) == (spec.SourceRef == nil) {
		return one("spec.source", "Data volume should have either Source or SourceRef")
	}
	if spec.SourceRef != nil {
		return one("spec.sourceRef", "SourceRef %s/%s not found", spec.SourceRef.Kind, spec.SourceRef.Name)
	}
	switch n := sources(spec.Source); {
	case n == 0:
		return one("spec.source", "Missing Data volume source")
	case n > 1:
		return one("spec.source", "Multiple Data volume sources")
	}
	if h := spec.Source.HTTP; h != nil {
		if c := urlProblem(h.URL); c != "" {
			return one("spec.source.HTTP.url", "spec.source %s", c)
		}
	}
	if c := spec.ContentType; c != "" && c != cdiv1.DataVolumeKubeVirt && c != cdiv1.DataVolumeArchive {
		return one("spec.contentType", "ContentType not one of: %s, %s", cdiv1.DataVolumeKubeVirt, cdiv1.DataVolumeArchive)
	}
	if spec.Source.Upload == nil && spec.Source.HTTP == nil && spec.Source.Blank == nil {
		return one("spec.source", "the simulated CDI plays the sources upload, http and blank only")
	}
	return nil
}

func sources(s *cdiv1.DataVolumeSource) int {
	n := 0
	for v, i := reflect.ValueOf(s).Elem(), 0; i < v.NumField(); i++ {
		if !v.Field(i).IsNil() {
			n++
		}
	}
	return n
}

func sizeCause(requests corev1.ResourceList, where string) []cause {
	field := fmt.Sprintf("spec.%s.resources.requests.size", where)
	size, ok := requests[corev1.ResourceStorage]
	if !ok {
		return []cause{invalidCause(field, "%s size is missing", where)}
	}
	if size.Cmp(resource.Quantity{}) <= 0 {
		return []cause{invalidCause(field, "%s size can't be equal or less than zero", where)}
	}
	return nil
}

func accessCause(modes []corev1.PersistentVolumeAccessMode, field string) []cause {
	for _, m := range modes {
		if m != corev1.ReadWriteOnce && m != corev1.ReadOnlyMany && m != corev1.ReadWriteMany {
			return []cause{invalidCause(field, `Unsupported value: "%s": supported values: "ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce"`, m)}
		}
	}
	return nil
}

func urlProblem(text string) string {
	if text == "" {
		return "source URL is empty"
	}
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return "Invalid source URL: " + text
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return "Invalid source URL scheme: " + text
	}
	return ""
}
