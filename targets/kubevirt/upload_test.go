package kubevirt_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"landfall/engine/delivery"
	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
	"landfall/targets/kubesim"
	"landfall/targets/kubevirt"
	"landfall/targets/targettest"
)

var owner = targets.Owner{UID: "m-1", Name: "web", Namespace: ns}

// volume is a plan's volume for a disk.
func volume(name string, size int) targets.Volume {
	return targets.Volume{Name: name, Size: int64(size), StorageClass: "fast", VolumeMode: "Block", AccessModes: []string{"ReadWriteMany"}, Format: "raw"}
}

func untilState(t *testing.T, k targets.Target, v targets.Volume, what string, ok func(targets.VolumeState) bool) targets.VolumeState {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		s, err := k.Volume(t.Context(), owner, v)
		if err != nil {
			t.Fatal(err)
		}
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited for %s; the volume is %+v", what, s)
		}
		time.Sleep(3 * time.Millisecond)
	}
}

func ready(t *testing.T, k targets.Target, v targets.Volume) {
	t.Helper()
	if err := k.CreateVolume(t.Context(), owner, v); err != nil {
		t.Fatal(err)
	}
	untilState(t, k, v, "ready", func(s targets.VolumeState) bool { return s.Ready })
}

func leafSHA(t *testing.T, s *kubesim.Server) string {
	t.Helper()
	c, err := tls.Dial("tcp", strings.TrimPrefix(s.UploadURL(), "https://"), &tls.Config{InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	h := sha256.Sum256(c.ConnectionState().PeerCertificates[0].Raw)
	return hex.EncodeToString(h[:])
}

// unpublish takes the upload proxy's address away from CDI's configuration.
func unpublish(t *testing.T, s *kubesim.Server) {
	t.Helper()
	d, err := dynamic.NewForConfig(s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Group: "cdi.kubevirt.io", Version: "v1beta1", Resource: "cdiconfigs"}
	for _, sub := range [][]string{nil, {"status"}} {
		_, err = d.Resource(gvr).Patch(t.Context(), "config", types.MergePatchType, []byte(`{"status":{"uploadProxyURL":null}}`), metav1.PatchOptions{}, sub...)
		if err != nil {
			t.Logf("patch config %v: %v", sub, err)
		}
	}
	c, err := d.Resource(gvr).Get(t.Context(), "config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if st, _ := c.Object["status"].(map[string]any); st["uploadProxyURL"] != nil {
		t.Fatalf("the address is still published: %v", st["uploadProxyURL"])
	}
}

func TestUploadWays(t *testing.T) {
	for _, c := range []struct {
		what   string
		change func(*testing.T, *kubesim.Server, *spec.Destination)
	}{
		{"published by CDI", func(*testing.T, *kubesim.Server, *spec.Destination) {}},
		{"through the API server", func(t *testing.T, s *kubesim.Server, _ *spec.Destination) { unpublish(t, s) }},
		{"pinned", func(t *testing.T, s *kubesim.Server, d *spec.Destination) {
			d.UploadProxy = spec.UploadProxy{URL: s.UploadURL() + "/", TLS: spec.TLS{Thumbprint: strings.ToUpper(leafSHA(t, s))}}
		}},
		{"authority in a file", func(t *testing.T, s *kubesim.Server, d *spec.Destination) {
			d.UploadProxy = spec.UploadProxy{URL: s.UploadURL(), TLS: spec.TLS{CAFile: filepath.Join(t.TempDir(), "ca.pem")}}
			if err := os.WriteFile(d.UploadProxy.TLS.CAFile, s.UploadCA(), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"pinned, through the API server", func(t *testing.T, s *kubesim.Server, d *spec.Destination) {
			d.UploadProxy.TLS.Thumbprint = leafSHA(t, s)
			unpublish(t, s)
		}},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := start(t, kubesim.Config{})
			k := dial(t, s, func(d *spec.Destination) { c.change(t, s, d) })
			b := disk(t)
			v := volume("web-disk-0", len(b))
			ready(t, k, v)
			if err := k.Deliver(t.Context(), owner, v, targettest.NewImage(b), func(int64) {}); err != nil {
				t.Fatal(err)
			}
			untilState(t, k, v, "done", func(s targets.VolumeState) bool { return s.Done })
			if got := (world{s: s}).Contents(t, ns, v.Name, int64(len(b))); !bytes.Equal(got, b) {
				t.Error("what arrived is not what was sent")
			}
			if sent := s.Counters().Uploads[ns+"/"+v.Name]; sent > int64(len(b))/4 {
				t.Errorf("%d bytes went over the wire for an image of %d with an eighth of data", sent, len(b))
			}
		})
	}
}

func TestUploadCertificate(t *testing.T) {
	s := start(t, kubesim.Config{})
	b := disk(t)
	v := volume("web-disk-0", len(b))
	ready(t, dial(t, s, nil), v)
	shown := leafSHA(t, s)

	wrong := strings.Repeat("ab", 32)
	err := dial(t, s, func(d *spec.Destination) { d.UploadProxy.TLS.Thumbprint = wrong }).
		Deliver(t.Context(), owner, v, targettest.NewImage(b), func(int64) {})
	if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Certificate) || !strings.Contains(err.Error(), wrong) || !strings.Contains(err.Error(), shown) {
		t.Errorf("a changed certificate gives %v", err)
	}

	stranger := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(stranger, s.CA(), 0o600); err != nil {
		t.Fatal(err)
	}
	err = dial(t, s, func(d *spec.Destination) { d.UploadProxy.TLS.CAFile = stranger }).
		Deliver(t.Context(), owner, v, targettest.NewImage(b), func(int64) {})
	if fault.ClassOf(err) != fault.Blocked || !fault.Is(err, fault.Certificate) || !strings.Contains(err.Error(), shown) || fault.HintOf(err) == "" {
		t.Errorf("an unknown authority gives %v (%s)", err, fault.HintOf(err))
	}
	if n := s.Counters().Uploads[ns+"/"+v.Name]; n != 0 {
		t.Errorf("%d bytes were sent to whom we do not trust", n)
	}
	if block, _ := pem.Decode(s.CA()); block == nil {
		t.Fatal("no certificate")
	} else if _, err := x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
}

// An upload that failed leaves nothing that passes for finished.
func TestUploadFaults(t *testing.T) {
	for _, c := range []struct {
		what   string
		fault  kubesim.Fault
		class  fault.Class
		reason string
	}{
		{"token refused", kubesim.Fault{Do: kubesim.Unauth}, fault.Transient, fault.NotAuthenticated},
		{"not ready", kubesim.Fault{Do: kubesim.Unavailable, Message: "timed out waiting for the condition"}, fault.Transient, "ServerBusy"},
		{"server error", kubesim.Fault{Do: kubesim.Internal, Message: "unexpected EOF"}, fault.Transient, "ServerBusy"},
		{"volume is full", kubesim.Fault{Do: kubesim.Internal, Message: "unable to write to file: write /data/disk.img: no space left on device"}, fault.Blocked, fault.NoSpace},
		{"cut at once", kubesim.Fault{Do: kubesim.Cut}, fault.Transient, ""},
		{"cut in the middle", kubesim.Fault{Do: kubesim.Cut, Bytes: 500_000}, fault.Transient, ""},
		{"answer lost", kubesim.Fault{Do: kubesim.Lost}, fault.Transient, ""},
	} {
		t.Run(c.what, func(t *testing.T) {
			s := start(t, kubesim.Config{})
			k := dial(t, s, nil)
			b := disk(t)
			v := volume("web-disk-0", len(b))
			ready(t, k, v)
			c.fault.Verb, c.fault.Resource, c.fault.Name = "upload", "upload", v.Name
			s.Inject(c.fault)
			err := k.Deliver(t.Context(), owner, v, targettest.NewImage(b), func(int64) {})
			if fault.ClassOf(err) != c.class || c.reason != "" && !fault.Is(err, c.reason) {
				t.Fatalf("got %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
			}
			if c.fault.Do == kubesim.Lost {
				untilState(t, k, v, "done, as the other side has it all", func(s targets.VolumeState) bool { return s.Done })
			} else if err := k.Deliver(t.Context(), owner, v, targettest.NewImage(b), func(int64) {}); err != nil {
				t.Fatal(err)
			}
			untilState(t, k, v, "done", func(s targets.VolumeState) bool { return s.Done })
			if got := (world{s: s}).Contents(t, ns, v.Name, int64(len(b))); !bytes.Equal(got, b) {
				t.Error("what arrived is not what was sent")
			}
		})
	}
}

// The cluster fetches the image from us, with a password that is in a Secret and an authority that is in a ConfigMap.
func TestPull(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	images, err := delivery.Start("127.0.0.1:0", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer images.Close()
	b := disk(t)
	o := images.Offer("m-1/disk-0", bytes.NewReader(b), int64(len(b)))
	v := volume("web-disk-0", len(b))
	v.Pull = &targets.Pull{URL: o.URL, Username: o.Username, Password: o.Password, CA: o.CA}
	for range 2 {
		if err := k.CreateVolume(t.Context(), owner, v); err != nil {
			t.Fatal(err)
		}
	}
	untilState(t, k, v, "done", func(s targets.VolumeState) bool { return s.Done })
	if got := (world{s: s}).Contents(t, ns, v.Name, int64(len(b))); !bytes.Equal(got, b) {
		t.Error("what arrived is not what was offered")
	}
	refs, err := k.Owned(t.Context(), owner)
	if err != nil || len(refs) != 3 {
		t.Fatalf("owned %v, %v", refs, err)
	}
	for _, r := range refs {
		if err := k.Remove(t.Context(), owner, r); err != nil {
			t.Error(err)
		}
	}
}

// An importer that dies again and again is never failed by itself: its restarts are counted and its words are shown.
func TestPullOfWhatIsNotThere(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	images, err := delivery.Start("127.0.0.1:0", time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer images.Close()
	o := images.Offer("m-1/disk-0", bytes.NewReader(nil), 0)
	v := volume("web-disk-0", 1<<20)
	v.Pull = &targets.Pull{URL: o.URL + "-gone", Username: o.Username, Password: o.Password, CA: o.CA}
	if err := k.CreateVolume(t.Context(), owner, v); err != nil {
		t.Fatal(err)
	}
	st := untilState(t, k, v, "restarts", func(s targets.VolumeState) bool { return s.Restarts >= 2 && s.Waiting != "" })
	if st.Done || st.Failed || st.Ready {
		t.Errorf("the volume is %+v", st)
	}
	t.Log(st.Waiting)
}

// A proxy that takes nothing more is not waited for without end.
func TestUploadThatStandsStill(t *testing.T) {
	s := start(t, kubesim.Config{})
	d := spec.Destination{Kubeconfig: filepath.Join(t.TempDir(), "config")}
	if err := s.Kubeconfig(d.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	k, err := kubevirt.Dial(t.Context(), d, kubevirt.Options{Stall: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	b := make([]byte, 48<<20) // more than the sockets on the way hold
	_, _ = rand.NewChaCha8([32]byte{5}).Read(b)
	v := volume("web-disk-0", len(b))
	ready(t, k, v)
	s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Do: kubesim.Slow, After: 4 * time.Second})
	var last int64
	err = k.Deliver(t.Context(), owner, v, targettest.NewImage(b), func(n int64) { last = n })
	if fault.ClassOf(err) != fault.Transient || !fault.Is(err, fault.Unreachable) || !strings.Contains(err.Error(), "took nothing") {
		t.Errorf("got %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
	if last >= int64(len(b)) {
		t.Errorf("%d bytes of %d are said to have arrived where nobody reads", last, len(b))
	}
}

func TestUploadStoppedByUs(t *testing.T) {
	s := start(t, kubesim.Config{})
	k := dial(t, s, nil)
	b := make([]byte, 48<<20)
	_, _ = rand.NewChaCha8([32]byte{6}).Read(b)
	v := volume("web-disk-0", len(b))
	ready(t, k, v)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Do: kubesim.Slow, After: time.Second})
	err := k.Deliver(ctx, owner, v, targettest.NewImage(b), func(int64) {})
	if !fault.Is(err, fault.Interrupted) || fault.ClassOf(err) != fault.Transient {
		t.Errorf("got %v (%s, %s)", err, fault.ClassOf(err), fault.ReasonOf(err))
	}
}
