package kubesim_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"kubevirt.io/client-go/kubecli"
	cdiv1 "kubevirt.io/containerized-data-importer-api/pkg/apis/core/v1beta1"
	"sigs.k8s.io/yaml"

	"landfall/targets/kubesim"
)

// The recordings have no times, so what is brief is told by what it is: a recording that has such a state may stand beside one
// of the same situation without it. All others last, and must be shown in the recorded order, and no others.
var brief = []*regexp.Regexp{
	regexp.MustCompile(`^Pending +- +0  Bound=Unknown/NotFound `),           // until the claim is made
	regexp.MustCompile(`^PVCBound `),                                        // until the importer's pod is made
	regexp.MustCompile(`Bound=False/CreatingScratchSpace `),                 // until the scratch claim is made
	regexp.MustCompile(`Bound=False/Claim Pending `),                        // until CDI looks at the bound claim again
	regexp.MustCompile(`^UploadScheduled .*Bound=True.*Running=False/ ""$`), // until the pod is placed
	regexp.MustCompile(`^ImportScheduled .*Bound=True.*Running=False/ ""$`),
	regexp.MustCompile(`^ImportInProgress +N% `), // as fast as the image comes
}

func lasting(states []string) (out []string) {
	for _, s := range states {
		if !slices.ContainsFunc(brief, func(r *regexp.Regexp) bool { return r.MatchString(s) }) && (len(out) == 0 || out[len(out)-1] != s) {
			out = append(out, s)
		}
	}
	return out
}

// recordings are read where the recorder writes them.
func recordings(t *testing.T) map[string][]string {
	t.Helper()
	files, err := filepath.Glob("../../testdata/cluster/traces/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string][]string{}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(raw)), "\n")
		all[strings.TrimSuffix(filepath.Base(f), ".txt")] = lines[1:] // the first says what it is
	}
	return all
}

func isState(line string) bool { return line[0] != '>' && line[0] != '<' }

// world is what a situation finds; one that is not named finds a plain cluster. None of the recorded ones is left out.
// A volume of the recorded cluster is a file system of the claim's size, which takes its own part besides CDI's 6 %.
func world(situation string) kubesim.Config {
	overhead := 0.07
	cfg := kubesim.Config{Classes: []kubesim.StorageClass{{Name: "now", Default: true, Overhead: &overhead}}}
	switch situation {
	case "import-scratch-unbound":
		cfg.Classes = append(cfg.Classes, kubesim.StorageClass{Name: "barren", Capacity: "0"})
		cfg.ScratchClass = "barren"
	case "quota":
		cfg.Quotas = []kubesim.Quota{{Namespace: ns, Name: "small", Hard: map[string]string{"requests.storage": "1Mi"}}}
	case "wait-for-first-consumer":
		cfg.Classes[0].WaitForFirstConsumer = true
	}
	return cfg
}

// scene is one situation being played.
type scene struct {
	t     *testing.T
	s     *kubesim.Server
	v     kubecli.KubevirtClient
	url   string
	image []byte
	pass  string

	mu   sync.Mutex
	seen []string
}

func TestSituationsAsRecorded(t *testing.T) {
	all := recordings(t)
	known := map[string]bool{}
	for _, lines := range all {
		for _, l := range lines {
			known[l] = true
		}
	}
	for name, lines := range all {
		t.Run(name, func(t *testing.T) {
			s := start(t, world(name))
			x := &scene{t: t, s: s, v: virt(t, s), image: randomImage(t, 32<<20)}
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "who"}, StringData: map[string]string{"accessKeyId": "landfall", "secretKey": "wrong"}}
			if _, err := core(t, s).CoreV1().Secrets(ns).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			x.serve()
			x.watch()
			var want []string
			for i := 0; i < len(lines); i++ {
				if isState(lines[i]) {
					want = append(want, lines[i])
					continue
				}
				x.reach(want)
				if did, ok := strings.CutPrefix(lines[i], "> "); ok {
					if answer := x.do(did); answer != "" {
						i++
						if "< "+answer != lines[i] {
							t.Errorf("%s: answered %q, recorded is %q", did, answer, lines[i])
						}
					}
				}
			}
			x.reach(want)
			for _, state := range x.states() {
				if !known[state] {
					t.Errorf("no recording has this state:\n%s", state)
				}
			}
		})
	}
}

func (x *scene) states() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.seen)
}

// reach waits until as many states were seen as are recorded, and compares them.
func (x *scene) reach(want []string) {
	x.t.Helper()
	w := lasting(want)
	var got []string
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(2 * time.Millisecond) {
		if got = lasting(x.states()); len(got) >= len(w) {
			break
		}
	}
	if diff := cmp.Diff(w, got[:min(len(got), len(w))]); diff != "" {
		x.t.Fatalf("states differ (-recorded +simulated):\n%s", diff)
	}
}

func (x *scene) serve() {
	mux := http.NewServeMux()
	mux.HandleFunc("/disk.img", func(w http.ResponseWriter, r *http.Request) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(x.image))
	})
	mux.HandleFunc("/private.img", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	server := httptest.NewServer(mux)
	x.t.Cleanup(server.Close)
	x.url = server.URL
}

func (x *scene) watch() {
	ctx, stop := context.WithCancel(x.t.Context())
	volumes := x.v.CdiClient().CdiV1beta1().DataVolumes(ns)
	none, err := volumes.List(ctx, metav1.ListOptions{})
	if err != nil {
		x.t.Fatal(err)
	}
	// From here on, so that the first state is not missed by a watch that begins late.
	w, err := volumes.Watch(ctx, metav1.ListOptions{ResourceVersion: none.ResourceVersion})
	if err != nil {
		x.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for e := range w.ResultChan() {
			if dv, ok := e.Object.(*cdiv1.DataVolume); ok {
				x.mu.Lock()
				if s := state(dv); len(x.seen) == 0 || x.seen[len(x.seen)-1] != s {
					x.seen = append(x.seen, s)
				}
				x.mu.Unlock()
			}
		}
	}()
	x.t.Cleanup(func() { stop(); w.Stop(); <-ended })
}

var percentage = regexp.MustCompile(`^\d+\.\d+%$`)

// state is a status in the notation of the recordings.
func state(dv *cdiv1.DataVolume) string {
	phase, progress := string(dv.Status.Phase), string(dv.Status.Progress)
	if phase == "" {
		phase = "-"
	}
	switch {
	case progress == "":
		progress = "-"
	case percentage.MatchString(progress) && !strings.HasPrefix(progress, "100.0") && progress != "0.00%":
		progress = "N%"
	}
	var all []string
	for _, c := range dv.Status.Conditions {
		all = append(all, fmt.Sprintf("%s=%s/%s %q", c.Type, c.Status, c.Reason, c.Message))
	}
	slices.Sort(all)
	return strings.TrimRight(fmt.Sprintf("%-20s %-7s %d  %s", phase, progress, dv.Status.RestartCount, strings.Join(all, "  ")), " ")
}

// do does what a line says was done, and gives the answer if there is one.
func (x *scene) do(what string) string {
	t := x.t
	t.Helper()
	var (
		size, source string
		mib          int64
	)
	if rest, ok := strings.CutPrefix(what, "create a DataVolume of "); ok {
		size, source, _ = strings.Cut(rest, ", source ")
		dv := dataVolume("disk", size, &cdiv1.DataVolumeSource{})
		if err := yaml.Unmarshal([]byte(strings.ReplaceAll(source, "http://SERVER", x.url)), dv.Spec.Source); err != nil {
			t.Fatal(err)
		}
		dv.Spec.Storage = nil
		dv.Spec.PVC = &corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse(size)}},
		}
		if _, err := x.v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dv, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return ""
	}
	if n, _ := fmt.Sscanf(what, "compare disk.img with what was sent: the same, and zeros up to %d MiB", &mib); n == 1 {
		v, err := x.s.Volume(ns, "disk")
		if err != nil {
			t.Fatal(err)
		}
		holds(t, v, x.image)
		if st, err := os.Stat(v.Path); err != nil || st.Size()>>20 != mib {
			t.Errorf("disk.img has %d MiB, recorded are %d: %v", st.Size()>>20, mib, err)
		}
		return ""
	}
	if strings.HasPrefix(what, "wait ") && strings.HasSuffix(what, ": nothing more") {
		time.Sleep(20 * time.Millisecond) // brief states may follow the last one that lasts
		before := x.states()
		time.Sleep(100 * time.Millisecond)
		if diff := cmp.Diff(lasting(before), lasting(x.states())); diff != "" {
			t.Errorf("something more came:\n%s", diff)
		}
		return ""
	}
	switch what {
	case "create a pod that wants the claim":
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "consumer"}, Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "c", Image: "shell"}},
			Volumes:    []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"}}}},
		}}
		if _, err := core(t, x.s).CoreV1().Pods(ns).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		return ""
	case "wait until the token has expired":
		x.pass = token(t, x.v, "disk")
		x.s.ExpireTokens()
		return ""
	case "upload without a token":
		return x.upload("", "zstd")
	case "upload with a token that is none":
		return x.upload("eyJhbGciOiJQUzI1NiJ9.e30.AAAA", "zstd")
	case "upload raw.zst", "upload once more":
		return x.upload(token(t, x.v, "disk"), "zstd")
	case "upload raw":
		return x.upload(x.pass, "raw")
	}
	t.Fatalf("the recording does something that this test cannot: %q", what)
	return ""
}

func (x *scene) upload(pass, how string) string {
	client, url := uploader(x.t, x.v)
	req, err := http.NewRequestWithContext(x.t.Context(), http.MethodPost, url+"/v1beta1/upload-async", bytes.NewReader(compress(x.t, how, x.image)))
	if err != nil {
		x.t.Fatal(err)
	}
	if pass != "" {
		req.Header.Set("Authorization", "Bearer "+pass)
	}
	resp, err := client.Do(req)
	if err != nil {
		x.t.Fatal(err)
	}
	defer resp.Body.Close()
	said, err := io.ReadAll(resp.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	return strings.TrimSpace(resp.Status + " " + string(said))
}
