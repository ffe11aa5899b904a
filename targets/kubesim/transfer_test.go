package kubesim_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/ulikunitz/xz"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kubevirt.io/client-go/kubecli"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	uploadv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/upload/v1beta1"

	"landfall/targets/kubesim"
)

type cdiCondition = cdiv1.DataVolumeCondition

// randomImage is an image with data at both ends and a hole between.
func randomImage(t *testing.T, size int) []byte {
	t.Helper()
	image := make([]byte, size)
	rand.Read(image[:size/4])
	rand.Read(image[size-1000:])
	return image
}

func compress(t *testing.T, how string, image []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "zstd":
		z, err := zstd.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	case "gzip":
		w = gzip.NewWriter(&out)
	case "xz":
		z, err := xz.NewWriter(&out)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	default:
		return image
	}
	if _, err := w.Write(image); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func token(t *testing.T, v kubecli.KubevirtClient, claim string) string {
	t.Helper()
	r, err := v.CdiClient().UploadV1beta1().UploadTokenRequests(ns).Create(t.Context(), &uploadv1.UploadTokenRequest{
		ObjectMeta: metav1.ObjectMeta{Name: claim}, Spec: uploadv1.UploadTokenRequestSpec{PvcName: claim},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Status.Token
}

// uploader trusts what CDIConfig says and nothing else.
func uploader(t *testing.T, v kubecli.KubevirtClient) (*http.Client, string) {
	t.Helper()
	cfg, err := v.CdiClient().CdiV1beta1().CDIConfigs().Get(t.Context(), "config", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(*cfg.Status.UploadProxyCA)) {
		t.Fatal("CDIConfig has no CA of the upload proxy")
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}, "https://" + *cfg.Status.UploadProxyURL
}

func sendWith(t *testing.T, v kubecli.KubevirtClient, token string, body io.Reader) (int, string, error) {
	t.Helper()
	client, url := uploader(t, v)
	req, err := http.NewRequestWithContext(t.Context(), "POST", url+"/v1beta1/upload", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

func send(t *testing.T, _ *kubesim.Server, v kubecli.KubevirtClient, claim string, body []byte) (int, string) {
	t.Helper()
	code, text, err := sendWith(t, v, token(t, v, claim), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	return code, text
}

// holds checks that a volume begins with the image and has only zeros behind it.
func holds(t *testing.T, v kubesim.Volume, image []byte) {
	t.Helper()
	got, err := os.ReadFile(v.Path)
	if err != nil {
		t.Fatal(err)
	}
	if len(got) < len(image) || !bytes.Equal(got[:len(image)], image) || len(bytes.TrimLeft(got[len(image):], "\x00")) > 0 {
		t.Errorf("volume %s does not hold the image: %d bytes of %d", v.Claim, len(got), len(image))
	}
	if v.Image != int64(len(image)) {
		t.Errorf("volume says that an image of %d arrived, want %d", v.Image, len(image))
	}
}

// trace collects the statuses of a DataVolume in the notation of the recording, until one contains the end.
func trace(t *testing.T, v kubecli.KubevirtClient, name, end string, during func()) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	w, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	during()
	var out []string
	for e := range w.ResultChan() {
		dv, ok := e.Object.(*cdiv1.DataVolume)
		if !ok {
			t.Fatalf("watch gave %s %v", e.Type, e.Object)
		}
		line := notation(dv)
		if len(out) == 0 || out[len(out)-1] != line {
			out = append(out, line)
		}
		if strings.Contains(line, end) {
			return out
		}
	}
	t.Fatalf("the DataVolume did not come to %q:\n%s", end, strings.Join(out, "\n"))
	return nil
}

func notation(dv *cdiv1.DataVolume) string {
	quote := func(s string) string {
		if s == "" {
			return "None"
		}
		return "'" + s + "'"
	}
	var conditions []string
	for _, kind := range []cdiv1.DataVolumeConditionType{"Bound", "Ready", "Running"} {
		for _, c := range dv.Status.Conditions {
			if c.Type == kind {
				conditions = append(conditions, fmt.Sprintf("('%s', '%s', %s)", c.Type, c.Status, quote(c.Reason)))
			}
		}
	}
	restarts := "None"
	if dv.Status.RestartCount > 0 {
		restarts = fmt.Sprint(dv.Status.RestartCount)
	}
	return fmt.Sprintf("(%s, %s, %s, (%s))", quote(string(dv.Status.Phase)), quote(string(dv.Status.Progress)), restarts, strings.Join(conditions, ", "))
}

// shows checks that what was recorded from a slow cluster, which is seen less often, is shown in that order. The one
// percentage in it is what that image happened to be at.
func shows(t *testing.T, recorded, got []string) {
	t.Helper()
	rest := got
	for _, line := range recorded {
		if strings.Contains(line, "'97.01%'") {
			continue
		}
		i := slices.Index(rest, line)
		if i < 0 {
			t.Fatalf("after what went before, this is not shown:\n%s\nshown is:\n%s", line, strings.Join(got, "\n"))
		}
		rest = rest[i+1:]
	}
}

// recorded is a trace of a real CDI.
func recorded(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "cdi-phases.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, ok := strings.Cut(string(raw), "## "+name+"\n")
	if !ok {
		t.Fatalf("no recording of %s", name)
	}
	section, _, _ := strings.Cut(after, "## ")
	var out []string
	for line := range strings.Lines(section) {
		out = append(out, strings.TrimSpace(line))
	}
	return out
}

func TestUploadGoesThroughTheRecordedPhases(t *testing.T) {
	for _, how := range []string{"zstd", "gzip", "xz", "raw"} {
		t.Run(how, func(t *testing.T) {
			s := start(t, kubesim.Config{})
			v := virt(t, s)
			image := randomImage(t, 3<<20+512)
			got := trace(t, v, "up1", "'Succeeded'", func() {
				if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("up1", "4Mi", upload()), metav1.CreateOptions{}); err != nil {
					t.Fatal(err)
				}
				awaitPhase(t, v, "up1", "UploadReady")
				if code, text := send(t, s, v, "up1", compress(t, how, image)); code != http.StatusOK {
					t.Fatalf("upload: %d %s", code, text)
				}
			})
			shows(t, recorded(t, "up1"), got)
			volume, err := s.Volume(ns, "up1")
			if err != nil {
				t.Fatal(err)
			}
			holds(t, volume, image)
			if want := int64(len(compress(t, how, image))); how != "zstd" && volume.Uploaded != want {
				t.Errorf("counted %d bytes uploaded, want %d", volume.Uploaded, want)
			}
			events, err := core(t, s).CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.kind=PersistentVolumeClaim,reason=UploadSucceeded"})
			if err != nil || len(events.Items) != 1 || events.Items[0].Type != corev1.EventTypeWarning || events.Items[0].Message != "Upload Complete" {
				t.Errorf("events %v: %v", events.Items, err)
			}
			if code, _, _ := sendWith(t, v, token(t, v, "up1"), strings.NewReader("again")); code != http.StatusServiceUnavailable {
				t.Errorf("an upload after the end: %d, want 503", code)
			}
		})
	}
}

func TestUploadsThatAreRefused(t *testing.T) {
	s := start(t, kubesim.Config{TokenLife: 200 * time.Millisecond})
	v := virt(t, s)
	for _, name := range []string{"d", "e"} {
		if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume(name, "2Mi", upload()), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitPhase(t, v, name, "UploadReady")
	}
	old := token(t, v, "d")
	time.Sleep(250 * time.Millisecond)
	ended := token(t, v, "d")
	s.ExpireTokens()
	for _, row := range []struct {
		name, token string
		body        []byte
		code        int
		text        string
	}{
		{"token is too old", old, nil, http.StatusUnauthorized, ""},
		{"token was ended", ended, nil, http.StatusUnauthorized, ""},
		{"token is made up", "a.b.c", nil, http.StatusUnauthorized, ""},
		{"claim does not exist", token(t, v, "other"), nil, http.StatusServiceUnavailable, "PVC other that doesn't exist"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, text, err := sendWith(t, v, row.token, bytes.NewReader(row.body))
			if err != nil || code != row.code || !strings.Contains(text, row.text) {
				t.Errorf("%d %q %v, want %d %q", code, text, err, row.code, row.text)
			}
		})
	}
	t.Run("image is larger than the volume", func(t *testing.T) {
		code, text := send(t, s, v, "d", compress(t, "zstd", randomImage(t, 8<<20)))
		if code != http.StatusInternalServerError || !strings.Contains(text, "write /data/disk.img: no space left on device") {
			t.Errorf("%d %q", code, text)
		}
		if p := phase(t, v, "d"); p != "UploadReady" {
			t.Errorf("phase is %s, want UploadReady", p)
		}
	})
	t.Run("compressed stream ends early", func(t *testing.T) {
		whole := compress(t, "zstd", randomImage(t, 2<<20))
		code, text := send(t, s, v, "e", whole[:len(whole)/2])
		if code != http.StatusInternalServerError || !strings.Contains(text, "Saving stream failed") {
			t.Errorf("%d %q", code, text)
		}
	})
}

func TestUploadCutInTheMiddleIsDoneAgain(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("d", "4Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, "d", "UploadReady")
	first, second := randomImage(t, 4<<20), randomImage(t, 3<<20)
	s.Inject(kubesim.Fault{Verb: "upload", Resource: "upload", Name: "d", Do: kubesim.Cut, Bytes: 600_000})
	if code, text, err := sendWith(t, v, token(t, v, "d"), bytes.NewReader(first)); err == nil {
		t.Fatalf("the upload that was to be cut ended with %d %s", code, text)
	}
	if p := phase(t, v, "d"); p != "UploadReady" {
		t.Errorf("after the cut the phase is %s, want UploadReady", p)
	}
	if code, text := send(t, s, v, "d", second); code != http.StatusOK {
		t.Fatalf("second upload: %d %s", code, text)
	}
	awaitPhase(t, v, "d", "Succeeded")
	volume, err := s.Volume(ns, "d")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, volume, second)
	if volume.Uploaded < int64(len(second))+600_000 {
		t.Errorf("counted %d bytes over both tries", volume.Uploaded)
	}
}

func TestQcow2GoesThroughScratch(t *testing.T) {
	if _, err := exec.LookPath("qemu-img"); err != nil {
		t.Skip("qemu-img is not installed")
	}
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	dir := t.TempDir()
	image := randomImage(t, 2<<20)
	if err := os.WriteFile(filepath.Join(dir, "raw"), image, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("qemu-img", "convert", "-O", "qcow2", filepath.Join(dir, "raw"), filepath.Join(dir, "q")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	packed, err := os.ReadFile(filepath.Join(dir, "q"))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ name, size string }{{"fits", "2Mi"}, {"small", "1Mi"}} {
		if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume(row.name, row.size, upload()), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		awaitPhase(t, v, row.name, "UploadReady")
	}
	if code, text := send(t, s, v, "small", packed); code != http.StatusBadRequest || !strings.Contains(text, "virtual image size 2097152 is larger") {
		t.Errorf("image too large: %d %s", code, text)
	}
	if code, text := send(t, s, v, "fits", packed); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, text)
	}
	awaitPhase(t, v, "fits", "Succeeded")
	volume, err := s.Volume(ns, "fits")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, volume, image)
}

// source is an HTTPS server with a password, whose answer can be changed.
type source struct {
	*httptest.Server
	status atomic.Int64
	gets   atomic.Int64
}

func newSource(t *testing.T, image []byte) *source {
	t.Helper()
	src := &source{}
	src.status.Store(http.StatusOK)
	src.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			src.gets.Add(1)
		}
		if user, password, _ := r.BasicAuth(); user != "u" || password != "p" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if code := int(src.status.Load()); code != http.StatusOK {
			w.WriteHeader(code)
			return
		}
		http.ServeContent(w, r, "disk.img", time.Time{}, bytes.NewReader(image))
	}))
	t.Cleanup(src.Close)
	return src
}

func httpSource(t *testing.T, s *kubesim.Server, src *source) *cdiv1.DataVolumeSource {
	t.Helper()
	c := core(t, s).CoreV1()
	if _, err := c.Secrets(ns).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "key"}, StringData: map[string]string{"accessKeyId": "u", "secretKey": "p"}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	ca := "-----BEGIN CERTIFICATE-----\n" + base64Lines(src.Certificate().Raw) + "-----END CERTIFICATE-----\n"
	if _, err := c.ConfigMaps(ns).Create(t.Context(), configMap("ca", map[string]string{"ca.pem": ca}), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return &cdiv1.DataVolumeSource{HTTP: &cdiv1.DataVolumeSourceHTTP{URL: src.URL + "/disk.img", SecretRef: "key", CertConfigMap: "ca"}}
}

func TestImportGoesThroughTheRecordedPhases(t *testing.T) {
	s := start(t, kubesim.Config{Pace: 20 * time.Millisecond, SlowScheduler: true})
	v := virt(t, s)
	image := randomImage(t, 3<<20)
	from := httpSource(t, s, newSource(t, image))
	got := trace(t, v, "imp-ok", "'Succeeded'", func() {
		if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("imp-ok", "3Mi", from), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	shows(t, recorded(t, "imp-ok"), got)
	volume, err := s.Volume(ns, "imp-ok")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, volume, image)
	eventually(t, "the importer and its scratch claim to be gone", func() (bool, string) {
		p, err := core(t, s).CoreV1().PersistentVolumeClaims(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods, err := core(t, s).CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(p.Items) == 1 && len(pods.Items) == 0, fmt.Sprintf("%d claims, %d pods", len(p.Items), len(pods.Items))
	})
}

func TestImportNeverFailsButGoesOnWhenTheSourceAnswers(t *testing.T) {
	s := start(t, kubesim.Config{Pace: 5 * time.Millisecond})
	v := virt(t, s)
	image := randomImage(t, 1<<20)
	src := newSource(t, image)
	src.status.Store(http.StatusNotFound)
	from := httpSource(t, s, src)
	got := trace(t, v, "imp-404", "'ImportInProgress', 'N/A', 4, (('Bound', 'True', 'Bound'), ('Ready', 'False', None), ('Running', 'False', 'Error'))", func() {
		if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("imp-404", "1Mi", from), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	fromRun := func(lines []string) []string { // before that, two recordings differ by how fast a node was found
		for i, l := range lines {
			if strings.HasPrefix(l, "('ImportInProgress'") {
				return lines[i:]
			}
		}
		return nil
	}
	shows(t, fromRun(recorded(t, "imp-404")), fromRun(got))
	dv, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Get(t.Context(), "imp-404", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range dv.Status.Conditions {
		if c.Type == "Running" && c.Message != "" && !strings.Contains(c.Message, "expected status code 200, got 404. Status: 404 Not Found") {
			t.Errorf("Running says %q", c.Message)
		}
	}
	src.status.Store(http.StatusOK)
	awaitPhase(t, v, "imp-404", "Succeeded")
	volume, err := s.Volume(ns, "imp-404")
	if err != nil {
		t.Fatal(err)
	}
	holds(t, volume, image)
}

func TestImportThatDoesNotFitSaysSo(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	from := httpSource(t, s, newSource(t, randomImage(t, 3<<20)))
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("small", "1Mi", from), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the importer to complain and to be restarted", func() (bool, string) {
		dv, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Get(t.Context(), "small", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.ContainsFunc(dv.Status.Conditions, func(c cdiCondition) bool {
			return c.Type == "Running" && c.Message == "DataVolume too small to contain image"
		})
		return said && dv.Status.RestartCount > 1 && dv.Status.Phase == "ImportInProgress", fmt.Sprint(dv.Status)
	})
}

func TestVolumesEndWithTheCapacityOfTheirClass(t *testing.T) {
	s := start(t, kubesim.Config{Classes: []kubesim.StorageClass{{Name: "small", Default: true, Capacity: "6Mi", VolumeMode: "Block"}}})
	v := virt(t, s)
	free := func() string {
		list, err := core(t, s).StorageV1().CSIStorageCapacities("").List(t.Context(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("%d capacities: %v", len(list.Items), err)
		}
		return list.Items[0].Capacity.String()
	}
	eventually(t, "the capacity to be published", func() (bool, string) { return free() == "6Mi", "not there" })
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("a", "2Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, "a", "UploadReady")
	if got := free(); got != "2Mi" { // the volume and its scratch space
		t.Errorf("%s are free, want 2Mi", got)
	}
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("b", "3Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second claim to wait for room", func() (bool, string) {
		events, err := core(t, s).CoreV1().Events(ns).List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=b,reason=ProvisioningFailed"})
		return err == nil && len(events.Items) == 1 && phase(t, v, "b") == "Pending", fmt.Sprint(err)
	})
	image := randomImage(t, 2<<20)
	if code, text := send(t, s, v, "a", image); code != http.StatusOK {
		t.Fatalf("upload that fills a block volume: %d %s", code, text)
	}
	awaitPhase(t, v, "a", "Succeeded")
	awaitPhase(t, v, "b", "UploadScheduled") // the scratch space of the first made room for the claim, and for no more
}

func TestWaitForFirstConsumer(t *testing.T) {
	s := start(t, kubesim.Config{Classes: []kubesim.StorageClass{{Name: "late", Default: true, WaitForFirstConsumer: true}}})
	v := virt(t, s)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("waits", "1Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	now := dataVolume("now", "1Mi", upload())
	now.Annotations = map[string]string{"cdi.kubevirt.io/storage.bind.immediate.requested": ""}
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), now, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, "now", "UploadReady")
	awaitPhase(t, v, "waits", "WaitForFirstConsumer")
}

func TestDataVolumesHeldByTheScript(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	s.Force(ns, "stuck", kubesim.ScratchPending)
	for _, n := range []string{"stuck", "fails"} {
		if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume(n, "1Mi", upload()), metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	awaitPhase(t, v, "fails", "UploadReady")
	awaitPhase(t, v, "stuck", "UploadScheduled")
	time.Sleep(50 * time.Millisecond)
	if p := phase(t, v, "stuck"); p != "UploadScheduled" {
		t.Errorf("without scratch space the phase went on to %s", p)
	}
	for _, p := range []string{"Failed", "Paused"} {
		s.Force(ns, "fails", p)
		awaitPhase(t, v, "fails", p)
	}
	s.Force(ns, "fails", "")
	s.Force(ns, "stuck", "")
	awaitPhase(t, v, "fails", "UploadReady")
	awaitPhase(t, v, "stuck", "UploadReady")
}

func TestDeletingADataVolumeFreesEverything(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	dvs := v.CdiClient().CdiV1beta1().DataVolumes(ns)
	if _, err := dvs.Create(t.Context(), dataVolume("d", "1Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, "d", "UploadReady")
	volume, err := s.Volume(ns, "d")
	if err != nil {
		t.Fatal(err)
	}
	if err := dvs.Delete(t.Context(), "d", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "claims, volumes, pods and files to go", func() (bool, string) {
		c := core(t, s).CoreV1()
		claims, err := c.PersistentVolumeClaims(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		volumes, err := c.PersistentVolumes().List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods, err := c.Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		_, gone := os.Stat(filepath.Dir(volume.Path))
		return len(claims.Items)+len(volumes.Items)+len(pods.Items) == 0 && os.IsNotExist(gone), fmt.Sprint(len(claims.Items), len(volumes.Items), len(pods.Items), gone)
	})
}

func TestDataVolumesThatAreRefused(t *testing.T) {
	v := virt(t, start(t, kubesim.Config{}))
	noStorage := dataVolume("d", "1Mi", upload())
	noStorage.Spec.Storage = nil
	badAccess := dataVolume("d", "1Mi", upload())
	badAccess.Spec.Storage.AccessModes = []corev1.PersistentVolumeAccessMode{"Sometimes"}
	two := upload()
	two.HTTP = &cdiv1.DataVolumeSourceHTTP{URL: "http://x"}
	for _, row := range []struct {
		name string
		dv   *cdiv1.DataVolume
		want string
	}{
		{"no source", dataVolume("d", "1Mi", nil), "Data volume should have either Source or SourceRef"},
		{"empty source", dataVolume("d", "1Mi", &cdiv1.DataVolumeSource{}), "Missing Data volume source"},
		{"two sources", dataVolume("d", "1Mi", two), "Multiple Data volume sources"},
		{"no storage", noStorage, "Missing Data volume PVC"},
		{"size is zero", dataVolume("d", "0", upload()), "Storage size can't be equal or less than zero"},
		{"unknown access mode", badAccess, "Unsupported value"},
		{"URL is no URL", dataVolume("d", "1Mi", &cdiv1.DataVolumeSource{HTTP: &cdiv1.DataVolumeSourceHTTP{URL: "ftp://x"}}), "Invalid source URL scheme"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), row.dv, metav1.CreateOptions{})
			if err == nil || !strings.Contains(err.Error(), `admission webhook "datavolume-validate.cdi.kubevirt.io" denied the request: `) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("create: %v, want %q", err, row.want)
			}
		})
	}
}
