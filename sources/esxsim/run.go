package esxsim

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

// Ready is what the ready file says: how to reach a host that runs in another
// process. The password is not in it.
type Ready struct {
	URL          string `json:"url"` // https://host:port/sdk
	User         string `json:"user"`
	Fingerprint  string `json:"fingerprint"` // SHA-256, AB:CD:…
	Certificate  []byte `json:"certificate"` // DER
	ControlURL   string `json:"controlUrl"`
	ControlToken string `json:"controlToken"`
	NBD          string `json:"nbd,omitempty"` // host:port
	PID          int    `json:"pid"`
	Dir          string `json:"dir"`
}

// Client steers the host that wrote the file.
func (r Ready) Client() Client { return Client{URL: r.ControlURL, Token: r.ControlToken} }

// Run serves a host until ctx ends or the process gets SIGTERM or SIGINT. It
// writes Config.ReadyFile, whole or not at all, once everything answers, and
// removes it at the end.
func Run(ctx context.Context, stdout io.Writer, cfg Config) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	def(&cfg.Control, "127.0.0.1:0")
	s, err := Start(ctx, cfg)
	if err != nil {
		return err
	}
	defer s.Close()
	u := s.URL()
	u.User = nil
	r := Ready{URL: u.String(), User: s.cfg.User, Fingerprint: s.Fingerprint(), Certificate: s.Certificate().Raw,
		ControlURL: s.ControlURL(), ControlToken: s.ControlToken(), NBD: s.NBDAddress(), PID: os.Getpid(), Dir: s.dir}
	if cfg.ReadyFile != "" {
		b, err := json.MarshalIndent(r, "", " ")
		if err != nil {
			return fmt.Errorf("ready file: %w", err)
		}
		if err := keepFile(cfg.ReadyFile, b); err != nil {
			return fmt.Errorf("ready file: %w", err)
		}
		defer os.Remove(cfg.ReadyFile)
	}
	fmt.Fprintf(stdout, "simulated host %s serves %d vms from %s\n", r.URL, len(cfg.VMs), s.dir)
	<-ctx.Done()
	return nil
}

// ReadReady reads a ready file.
func ReadReady(path string) (Ready, error) {
	var r Ready
	b, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("ready file: %w", err)
	}
	if err := json.Unmarshal(b, &r); err != nil {
		return r, fmt.Errorf("ready file %s: %w", path, err)
	}
	return r, nil
}
