package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"landfall/engine"
	"landfall/engine/boundary"
	"landfall/engine/secret"
	"landfall/engine/spec"
	"landfall/sources/esxsim"
	"landfall/store"
	"landfall/targets/kubesim"
)

// The test binary is the program when it is told so: engines and simulators of the tests are processes of their own.
const (
	envProgram = "LANDFALL_TEST_PROGRAM"
	envKill    = "LANDFALL_TEST_KILL"  // die at the n-th write boundary
	envKillIf  = "LANDFALL_TEST_KIND"  // count only boundaries of this kind
	envCount   = "LANDFALL_TEST_COUNT" // write the boundaries that were crossed to this file
)

func TestMain(m *testing.M) {
	if os.Getenv(envProgram) == "" {
		os.Exit(m.Run())
	}
	kill, _ := strconv.ParseInt(os.Getenv(envKill), 10, 64)
	kind := boundary.Kind(os.Getenv(envKillIf))
	var count *os.File
	if path := os.Getenv(envCount); path != "" {
		count, _ = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	var n atomic.Int64
	boundary.Hook = func(k boundary.Kind, name string) {
		if kind != "" && k != kind {
			return
		}
		at := n.Add(1)
		if count != nil {
			fmt.Fprintf(count, "%d %s: %s\n", at, k, name)
		}
		if at == kill {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	os.Exit(Main(context.Background(), World{Args: os.Args[1:], In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Lookup: os.LookupEnv}))
}

const testPassword = "s3cret & planted"

// testWorld is a simulated host and cluster in the test's process, and a workspace.
type testWorld struct {
	t         *testing.T
	dir       string
	workspace string
	host      *esxsim.Server
	cluster   *kubesim.Server                            // nil where it is a real one
	volume    func(name string) (path string, err error) // the file that a volume of the cluster is
	patience  time.Duration                              // with one thing, at least two minutes
	store     *store.Store
	endpoint  engine.Endpoint
}

func newWorld(t *testing.T, vms ...esxsim.VM) *testWorld {
	t.Helper()
	return newWorldWith(t, nil, vms...)
}

// newWorldWith is newWorld with another cluster.
func newWorldWith(t *testing.T, change func(*kubesim.Config), vms ...esxsim.VM) *testWorld {
	t.Helper()
	w := &testWorld{t: t, dir: t.TempDir()}
	var err error
	cluster := kubesim.Config{Dir: filepath.Join(w.dir, "cluster"), Pace: 5 * time.Millisecond, Namespaces: []string{"vms"},
		Classes: []kubesim.StorageClass{{Name: "standard", Default: true, Capacity: "100Ti"}},
		Nodes:   []kubesim.Node{{Name: "node-1", CPU: "1000", Memory: "4Ti"}}}
	if change != nil {
		change(&cluster)
	}
	if w.cluster, err = kubesim.Start(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.cluster.Close() })
	w.volume = func(name string) (string, error) {
		v, err := w.cluster.Volume("vms", name)
		return v.Path, err
	}
	kubeconfig := filepath.Join(w.dir, "kubeconfig")
	if err := w.cluster.Kubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}
	w.between(vms, "standard", spec.Destination{Kubeconfig: kubeconfig, Namespace: "vms"})
	return w
}

// between starts the host and opens a workspace between it and the cluster.
func (w *testWorld) between(vms []esxsim.VM, class string, target spec.Destination) {
	w.t.Helper()
	var err error
	if w.host, err = esxsim.Start(w.t.Context(), esxsim.Config{Dir: filepath.Join(w.dir, "esxi"), NBD: "127.0.0.1:0", Password: testPassword, VMs: vms, Networks: []string{"DMZ"}}); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(w.host.Close)
	password := filepath.Join(w.dir, "password")
	if err := os.WriteFile(password, []byte(testPassword+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
	url := w.host.URL()
	w.endpoint = engine.Endpoint{Name: "esxi", Defaults: defaults(class, "VM Network", ""), Target: target,
		Source: spec.Source{Type: "vsphere", Address: url.Host, Username: url.User.Username(), Password: secret.Ref{File: password},
			TLS: spec.TLS{Thumbprint: w.host.Fingerprint()}, ShutdownSeconds: 2}}
	w.fresh("workspace")
}

// fresh opens a new workspace in the same world.
func (w *testWorld) fresh(name string) {
	w.t.Helper()
	w.workspace = filepath.Join(w.dir, name)
	s, err := store.Open(w.t.Context(), w.workspace, store.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = s.Close() })
	w.store = s
}

var tester = engine.Person{Name: "tester", From: "go test"}

// apply starts a migration of a VM of the host; change may be nil.
func (w *testWorld) apply(vm string, change func(*spec.Document)) engine.Migration {
	w.t.Helper()
	m, err := w.tryApply(vm, change)
	if err != nil {
		w.t.Fatal(err)
	}
	return m
}

func (w *testWorld) tryApply(vm string, change func(*spec.Document)) (engine.Migration, error) {
	d := document(w.endpoint, "test")
	d.Spec.Source.VM = spec.VM{Name: vm}
	if change != nil {
		change(&d)
	}
	if err := d.Validate(); err != nil {
		return engine.Migration{}, err
	}
	return w.store.Apply(w.t.Context(), d, tester)
}

// process is an engine in a process of its own.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan error
}

// engine starts an engine on the workspace; env may make it die at a boundary.
func (w *testWorld) engine(env ...string) *process {
	w.t.Helper()
	return w.engineWith([]string{"--poll", "50ms"}, env...)
}

// engineWith is engine with flags of its own.
func (w *testWorld) engineWith(flags []string, env ...string) *process {
	w.t.Helper()
	p := &process{log: filepath.Join(w.workspace, "engine.log"), done: make(chan error, 1)}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		w.t.Fatal(err)
	}
	defer log.Close()
	p.cmd = exec.Command(os.Args[0], append([]string{"--workspace", w.workspace, "engine", "--backoff", "50ms"}, flags...)...)
	p.cmd.Env = append(append(os.Environ(), envProgram+"=1"), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() { p.done <- p.cmd.Wait() }()
	w.t.Cleanup(func() { p.kill() })
	return p
}

// kill ends the engine as a power cut of the process would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	p.wait(time.Minute)
}

// stop asks the engine to end at its next safe point.
func (p *process) stop(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !store.EngineAlive(filepath.Dir(p.log)) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond) // before it has its lock it does not listen for signals
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	if err, ok := p.wait(time.Minute); !ok || err != nil {
		t.Errorf("the engine did not stop cleanly: %v\n%s", err, p.words())
	}
}

func (p *process) wait(d time.Duration) (error, bool) {
	select {
	case err := <-p.done:
		p.done <- err
		return err, true
	case <-time.After(d):
		return nil, false
	}
}

func (p *process) ended() bool { _, ok := p.wait(0); return ok }

func (p *process) words() string {
	b, _ := os.ReadFile(p.log)
	return string(b[max(0, len(b)-4000):])
}

// until waits for a condition of the migration; what it waits for is said when it does not come.
func (w *testWorld) until(uid, what string, cond func(engine.Migration) bool) engine.Migration {
	w.t.Helper()
	deadline := time.Now().Add(max(w.patience, 2*time.Minute))
	for {
		m, err := w.store.Migration(context.WithoutCancel(w.t.Context()), uid)
		if err != nil {
			w.t.Fatal(err)
		}
		if cond(m) {
			return m
		}
		if time.Now().After(deadline) {
			b, _ := os.ReadFile(filepath.Join(w.workspace, "engine.log"))
			w.t.Fatalf("waiting for %s: %s %s: %s (%s %s)\nengine log: %s", what, m.Status.Phase, m.Status.Reason, m.Status.Message, m.Status.Sight, m.Status.Seen, b[max(0, len(b)-3000):])
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// phase waits for a phase, and fails at once in another that is never left by itself.
func (w *testWorld) phase(uid string, want engine.Phase) engine.Migration {
	w.t.Helper()
	m := w.until(uid, string(want), func(m engine.Migration) bool {
		p := m.Status.Phase
		return p == want || p.Terminal() || p == engine.ManualInterventionRequired
	})
	if m.Status.Phase != want {
		w.t.Fatalf("phase %s (%s: %s), want %s\nerrors: %+v", m.Status.Phase, m.Status.Reason, m.Status.Message, want, m.Status.Errors)
	}
	return m
}

// equal tells whether every disk of a completed migration holds what the source holds.
func (w *testWorld) equal(m engine.Migration) {
	w.t.Helper()
	for i, d := range m.Status.Disks {
		source, err := w.host.Digest(m.Status.Inventory.Ref.InstanceUUID, i)
		if err != nil {
			w.t.Fatal(err)
		}
		path, err := w.volume(d.Volume)
		if err != nil {
			w.t.Fatal(err)
		}
		arrived, err := fileSHA256(path, d.Size)
		if err != nil {
			w.t.Fatal(err)
		}
		if source != arrived {
			w.t.Errorf("disk %d: SHA-256 %s at the source, %s in volume %s", i, source, arrived, d.Volume)
		}
	}
}

// answer takes the open decision of a kind, and waits until the engine has acted on it.
func (w *testWorld) answer(uid, kind, option string) {
	w.t.Helper()
	asked := w.question(uid, kind, func(d engine.Decision) bool { return d.Open() })
	if _, err := w.store.Answer(w.t.Context(), asked.ID, asked.Version, option, tester); err != nil {
		w.t.Fatal(err)
	}
	w.question(uid, kind, func(d engine.Decision) bool { return d.ID == asked.ID && !d.Closed.IsZero() })
}

func (w *testWorld) question(uid, kind string, cond func(engine.Decision) bool) engine.Decision {
	w.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ds, err := w.store.Decisions(w.t.Context(), uid)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, d := range ds {
			if d.Kind == kind && cond(d) {
				return d
			}
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("no such decision of kind %s: %+v", kind, ds)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// retry ends a rest, and waits until the engine has taken it up.
func (w *testWorld) retry(uid string) {
	w.t.Helper()
	if err := w.store.RetryNow(w.t.Context(), uid, tester); err != nil {
		w.t.Fatal(err)
	}
	w.until(uid, "the retry to be taken up", func(m engine.Migration) bool { return m.Status.ObservedRetry == m.Retry })
}

// smallVM has a bootable disk of a few MiB.
func smallVM(t *testing.T, name string, size int64) esxsim.VM {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "disk.raw"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	p := esxsim.Pattern{Seed: uint64(len(name)), Ranges: []esxsim.Range{{Offset: 2 << 20, Length: size / 3}, {Offset: size - 4096, Length: 4096}}}
	buf := make([]byte, size-2<<20)
	if _, err := p.ReadAt(buf, 2<<20); err != nil {
		t.Fatal(err)
	}
	for at := int64(0); at < int64(len(buf)); at += 1 << 20 {
		chunk := buf[at:min(at+1<<20, int64(len(buf)))]
		if !allZero(chunk) {
			if _, err := f.WriteAt(chunk, at+2<<20); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := kubesim.WriteGuest(f, kubesim.Guest{Pages: map[string]kubesim.Page{"/": {Body: "hello from " + name}}}, 1<<20); err != nil {
		t.Fatal(err)
	}
	return esxsim.VM{Name: name, Power: esxsim.On, NICs: []esxsim.NIC{{}}, Hostname: "h", IPs: []string{"192.0.2.9"},
		Shutdown: esxsim.Shutdown{Answer: esxsim.Obeys, Delay: 30 * time.Millisecond},
		Disks:    []esxsim.Disk{{Size: size, Contents: esxsim.Contents{File: f.Name()}}}}
}

func allZero(p []byte) bool {
	for _, b := range p {
		if b != 0 {
			return false
		}
	}
	return true
}

// checked asks for the guest's page.
func checked(name string) func(*spec.Document) {
	return func(d *spec.Document) {
		d.Spec.Validation.Checks = []spec.Check{{Type: "HTTP", Port: 80, Path: "/", ExpectBodyContains: "hello from " + name}}
	}
}

// eventually waits for a condition.
func (w *testWorld) eventually(what string, cond func() bool) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			b, _ := os.ReadFile(filepath.Join(w.workspace, "engine.log"))
			w.t.Fatalf("waiting for %s\nengine log: %s", what, b[max(0, len(b)-3000):])
		}
	}
}
