// Package secret holds passwords and tokens so that they cannot be printed, and the references by which they are
// found. Only a reference is ever stored; the value is looked up when a connection is made.
package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Secret is a value that shows as *** wherever it is printed, logged or marshalled.
type Secret struct{ value string }

// New wraps a value.
func New(value string) Secret { return Secret{value} }

// Reveal gives the value, for the one call that needs it.
func (s Secret) Reveal() string { return s.value }

// Empty tells whether there is no value.
func (s Secret) Empty() bool { return s.value == "" }

func (s Secret) String() string               { return "***" }
func (s Secret) GoString() string             { return "secret.Secret(***)" }
func (s Secret) MarshalText() ([]byte, error) { return []byte("***"), nil }

// Format keeps every verb of fmt from the value.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "***") }

// Ref says where a secret is found. Exactly one field is set.
type Ref struct {
	// Env names an environment variable of the engine's process.
	Env string `yaml:"env,omitempty" json:"env,omitempty"`
	// File is the path of a file of mode 0600 or stricter; one trailing newline is dropped.
	File string `yaml:"file,omitempty" json:"file,omitempty"`
	// Command is a program and its arguments, run without a shell; the first line of its output is the secret.
	Command []string `yaml:"command,omitempty" json:"command,omitempty"`
}

// Zero tells whether nothing is referred to.
func (r Ref) Zero() bool { return r.Env == "" && r.File == "" && len(r.Command) == 0 }

// String names the reference, never the value.
func (r Ref) String() string {
	switch {
	case r.Env != "":
		return "environment variable " + r.Env
	case r.File != "":
		return "file " + r.File
	case len(r.Command) > 0:
		return "command " + r.Command[0]
	}
	return "nothing"
}

// Validate tells whether exactly one way is named.
func (r Ref) Validate() error {
	n := 0
	for _, set := range []bool{r.Env != "", r.File != "", len(r.Command) > 0} {
		if set {
			n++
		}
	}
	if n > 1 {
		return errors.New("give one of env, file and command, not several")
	}
	return nil
}

// Resolve looks the secret up. Errors name the reference and never the value.
func (r Ref) Resolve(ctx context.Context) (Secret, error) {
	switch {
	case r.Env != "":
		v, ok := os.LookupEnv(r.Env)
		if !ok {
			return Secret{}, fmt.Errorf("password: environment variable %s is not set for this process", r.Env)
		}
		return New(v), nil
	case r.File != "":
		return fromFile(r.File)
	case len(r.Command) > 0:
		return fromCommand(ctx, r.Command)
	}
	return Secret{}, nil
}

func fromFile(path string) (Secret, error) {
	f, err := os.Open(path)
	if err != nil {
		return Secret{}, fmt.Errorf("password: %w", err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return Secret{}, fmt.Errorf("password: %w", err)
	}
	if st.Mode().Perm()&0o077 != 0 {
		return Secret{}, fmt.Errorf("password: %s can be read by others (mode %04o): chmod 600 it", path, st.Mode().Perm())
	}
	b, err := io.ReadAll(io.LimitReader(f, 64<<10))
	if err != nil {
		return Secret{}, fmt.Errorf("password: read %s: %w", path, err)
	}
	return New(strings.TrimSuffix(strings.TrimSuffix(string(b), "\n"), "\r")), nil
}

func fromCommand(ctx context.Context, argv []string) (Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).Output()
	if err != nil {
		return Secret{}, fmt.Errorf("password: command %s: %w", argv[0], err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if line = strings.TrimSuffix(line, "\r"); line == "" {
		return Secret{}, fmt.Errorf("password: command %s printed nothing", argv[0])
	}
	return New(line), nil
}
