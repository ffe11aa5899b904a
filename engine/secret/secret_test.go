package secret

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestASecretIsNeverPrinted(t *testing.T) {
	s := New("hunter2")
	type holder struct{ S Secret }
	b, err := json.Marshal(holder{s})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %s %q %x %d", s, s, s, s, s, s, s), fmt.Sprintf("%+v %#v", holder{s}, &holder{s}), string(b)} {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("printed: %s", text)
		}
	}
	if s.Reveal() != "hunter2" {
		t.Error("the value is lost")
	}
}

func TestResolve(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Setenv("LANDFALL_TEST_SECRET", " with spaces ")
	for name, tc := range map[string]struct {
		ref  Ref
		want string
		err  string
	}{
		"nothing":               {Ref{}, "", ""},
		"environment":           {Ref{Env: "LANDFALL_TEST_SECRET"}, " with spaces ", ""},
		"environment unset":     {Ref{Env: "LANDFALL_TEST_UNSET"}, "", "LANDFALL_TEST_UNSET is not set"},
		"file":                  {Ref{File: file("a", "pass word\n", 0o600)}, "pass word", ""},
		"file with CRLF":        {Ref{File: file("b", "pass\r\n", 0o400)}, "pass", ""},
		"file open to others":   {Ref{File: file("c", "hunter2", 0o644)}, "", "chmod 600"},
		"file missing":          {Ref{File: filepath.Join(dir, "none")}, "", "no such file"},
		"command":               {Ref{Command: []string{"printf", `first\nsecond`}}, "first", ""},
		"command without shell": {Ref{Command: []string{"printf", "%s", "$(id); `id`"}}, "$(id); `id`", ""},
		"command fails":         {Ref{Command: []string{"false"}}, "", "command false"},
		"command says nothing":  {Ref{Command: []string{"true"}}, "", "printed nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := tc.ref.Resolve(t.Context())
			switch {
			case tc.err == "" && (err != nil || s.Reveal() != tc.want):
				t.Errorf("%q, %v; want %q", s.Reveal(), err, tc.want)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err) || strings.Contains(err.Error(), "hunter2")):
				t.Errorf("error %v, want %q", err, tc.err)
			}
		})
	}
}
