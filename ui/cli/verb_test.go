package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"landfall/engine"
	"landfall/sources/esxsim"
)

// say runs a verb in a process of its own, as a person would, and gives what it printed and its exit code.
func (w *testWorld) say(args ...string) (out, errs string, code int) {
	w.t.Helper()
	cmd := program("", args...)
	cmd.Env = append(cmd.Env, "LANDFALL_WORKSPACE="+w.workspace)
	cmd.Dir = w.t.TempDir()
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run()
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// TestVerbs takes a whole migration through the verbs alone, with a VM of a hostile name.
func TestVerbs(t *testing.T) {
	const hostile = "evil\x1b[31m\u202e VM"
	vm := smallVM(t, hostile, 8<<20)
	refuses(&vm)
	w := newWorld(t, vm)
	t.Cleanup(func() { w.say("engine", "stop") })
	src := w.endpoint.Source
	ok := func(want string, args ...string) string {
		t.Helper()
		out, errs, code := w.say(args...)
		if code != 0 || !strings.Contains(out, want) {
			t.Fatalf("%v: exit %d, %q is not in\n%s%s", args, code, want, out, errs)
		}
		document := slices.Contains(args, "--print") || args[0] == "status" // exact where it is not written to a terminal
		if !document && strings.ContainsAny(out, "\x1b\u202e") {
			t.Errorf("%v prints a name raw: %q", args, out)
		}
		return out
	}
	ok("VMware ESXi", "connect", "lab", "--source", src.Address, "--username", src.Username, "--password-file", src.Password.File, "--thumbprint", src.TLS.Thumbprint,
		"--kubeconfig", w.endpoint.Target.Kubeconfig, "-n", "vms", "--storage-class", "standard", "--network", "VM Network")
	out := ok("warning", "vms")
	id := ""
	for line := range strings.Lines(out) {
		if strings.Contains(line, "evil") {
			id = strings.Fields(line)[0]
		}
	}
	document := filepath.Join(t.TempDir(), "vm.yaml")
	printed := ok("kind: VirtualMachineMigration", "migrate", id, "--print", "--check-http", "80/=hello")
	if err := os.WriteFile(document, []byte(strings.Replace(printed, "    vm:", "    shutdownTimeoutSeconds: 1\n    vm:", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	ok("is pending", "apply", "-f", document)
	var lines []engine.Line
	if err := json.Unmarshal([]byte(ok(id, "list", "-o", "json")), &lines); err != nil || len(lines) != 1 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	uid := lines[0].UID
	w.question(uid, "power-off", func(d engine.Decision) bool { return d.Open() })
	ok("Power it off hard?", "decide")
	ok("pulls the plug", "decide", uid[:8])
	for _, wrong := range [][]string{
		{"decide", uid[:8], "--answer", "nonsense"},
		{"decide", uid[:8], "--answer", "hard", "--confirm", "another VM"},
		{"decide", uid[:8], "--answer", "hard"}, // nothing is typed
		{"decide", uid[:8], "--answer", "hard", "--confirm", id, "--read-only"},
		{"apply", "-f", document}, // the VM has a migration
		{"cleanup", uid[:8]},      // it has not ended
		{"status", "no-such"},
		{"migrate", "no such VM"},
		{"list", "-o", "xml"},
		{"nonsense"},
	} {
		if out, errs, code := w.say(wrong...); code == 0 || !strings.Contains(errs, "landfall: ") {
			t.Errorf("%v: exit %d: %s%s", wrong, code, out, errs)
		}
	}
	if n := w.host.Counters().Calls["PowerOffVM_Task"]; n != 0 {
		t.Fatalf("powered off %d times without a confirmed answer", n)
	}
	ok("decided", "decide", uid[:8], "--answer", "hard", "--confirm", id)
	w.question(uid, "power-off", func(d engine.Decision) bool { return !d.Closed.IsZero() })
	w.phase(uid, engine.Completed)
	if _, errs, code := w.say("decide", uid[:8], "--answer", "wait"); code == 0 || !strings.Contains(errs, "no open decision") {
		t.Errorf("a decision that was taken: exit %d: %s", code, errs)
	}
	ok("equal: what was sent is what was read", "report", uid[:8])
	ok("phase: Completed", "status", uid[:8])
	ok("MIGRATION", "cleanup")
	ok("stopped", "engine", "stop")
	ok("no engine runs", "list")
	ok("bash completion", "completion", "bash")
	ok("landfall", "version")
	if err := w.host.SetPower(id, esxsim.On); err != nil {
		t.Fatal(err)
	}
	ok("is pending", "migrate", "--again", uid[:8], "--name", "again")
	var again []engine.Line
	if err := json.Unmarshal([]byte(ok("again", "list", "-o", "json")), &again); err != nil || len(again) != 2 {
		t.Fatalf("%d lines, %v", len(again), err)
	}
	ok("cancelling", "cancel", again[0].UID[:8], "--confirm", id)
	w.until(again[0].UID, "the end", func(m engine.Migration) bool { return m.Status.Phase == engine.Cancelled })
}
