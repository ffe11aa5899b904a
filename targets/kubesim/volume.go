package kubesim

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// Volume is what is behind a bound claim.
type Volume struct {
	Namespace string `json:"namespace"`
	Claim     string `json:"claim"`
	Path      string `json:"path"`     // the image file; missing as long as nothing was written
	Mode      string `json:"mode"`     // Block or Filesystem
	Capacity  int64  `json:"capacity"` // of the claim
	Usable    int64  `json:"usable"`   // without what a file system takes
	Image     int64  `json:"image"`    // virtual size of the image that arrived, 0 until one has; the rest of the file is zeros
	Uploaded  int64  `json:"uploaded"` // bytes that came over the wire, over all tries since the start of the process
}

// Volume finds the bytes behind a claim.
func (s *Server) Volume(namespace, claim string) (Volume, error) {
	var v Volume
	err := s.store.do(func(t tx) error {
		c := t.get(&claims, namespace, claim)
		if c == nil {
			return fmt.Errorf("look up volume: there is no claim %s/%s", namespace, claim)
		}
		if str(c, "spec", "volumeName") == "" {
			return fmt.Errorf("look up volume: claim %s/%s is not bound", namespace, claim)
		}
		v = s.volume(t, c)
		return nil
	})
	return v, err
}

// Volumes lists the volumes of all bound claims.
func (s *Server) Volumes() []Volume {
	var out []Volume
	s.store.view(func(t tx) {
		for _, c := range t.list(&claims, "") {
			if str(c, "spec", "volumeName") != "" {
				out = append(out, s.volume(t, c))
			}
		}
	})
	return out
}

func (s *Server) volume(t tx, c object) Volume {
	size := quantity(str(c, "status", "capacity", "storage"))
	v := Volume{
		Namespace: namespace(c), Claim: name(c), Mode: str(c, "spec", "volumeMode"), Capacity: size.Value(),
		Path: s.volumeFile(str(c, "spec", "volumeName")), Uploaded: s.Counters().Uploads[namespace(c)+"/"+name(c)],
	}
	v.Usable = v.Capacity
	if v.Mode != string(corev1.PersistentVolumeBlock) {
		overhead := defaultOverhead
		if class, ok := s.cfg.class(str(c, "spec", "storageClassName")); ok {
			overhead = class.overhead()
		}
		v.Usable = int64(float64(v.Capacity) * (1 - overhead))
	}
	if r := t.get(&transfers, namespace(c), name(c)); r != nil {
		v.Image, _ = r["image"].(int64)
	}
	return v
}

// inflated is the size of a claim whose file system must hold size bytes, as CDI computes it.
func inflated(size int64, overhead float64) int64 {
	const block = 1 << 20
	aligned := (size + block - 1) / block * block
	whole := int64(float64(aligned)/(1-overhead)) + 1
	return (whole + block - 1) / block * block
}
