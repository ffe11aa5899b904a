package kubesim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// RunConfig is the file that Run reads: a Config, with the durations as text ("250ms"), and where to write what a client
// needs.
type RunConfig struct {
	Config
	PaceText      string `json:"pace"`
	TokenLifeText string `json:"tokenLife"`
	Kubeconfig    string `json:"kubeconfig"` // "" is kubeconfig in Dir
	ReadyFile     string `json:"readyFile"`  // "" is ready.json in Dir
}

// Ready is the file that says where a running cluster is. It is written whole, with mode 0600, once everything answers,
// and removed when the cluster stops.
type Ready struct {
	PID          int    `json:"pid"`
	Kubeconfig   string `json:"kubeconfig"`
	Context      string `json:"context"`
	Server       string `json:"server"`
	UploadProxy  string `json:"uploadProxy"`
	Control      string `json:"control"`
	ControlToken string `json:"controlToken"`
}

// Run plays the cluster of a configuration file until ctx is done or the process is told to end.
func Run(ctx context.Context, stdout io.Writer, configFile string) error {
	cfg, err := ReadConfig(configFile)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGTERM, os.Interrupt)
	defer stop()
	s, err := Start(ctx, cfg.Config)
	if err != nil {
		return err
	}
	defer s.Close()
	ready, err := s.announce(cfg)
	if err != nil {
		return err
	}
	defer os.Remove(cfg.ReadyFile)
	fmt.Fprintf(stdout, "simulated cluster at %s, kubeconfig %s\n", ready.Server, ready.Kubeconfig)
	<-ctx.Done()
	return s.Close()
}

// ReadConfig reads the file of Run; a field that it does not know is an error.
func ReadConfig(path string) (RunConfig, error) {
	var cfg RunConfig
	raw, err := os.ReadFile(path)
	if err != nil {
		return cfg, fmt.Errorf("read cluster configuration: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&cfg); err != nil {
		return cfg, fmt.Errorf("read cluster configuration %s: %w", path, err)
	}
	for _, d := range []struct {
		text string
		to   *time.Duration
	}{{cfg.PaceText, &cfg.Pace}, {cfg.TokenLifeText, &cfg.TokenLife}} {
		if d.text == "" {
			continue
		}
		if *d.to, err = time.ParseDuration(d.text); err != nil {
			return cfg, fmt.Errorf("read cluster configuration %s: %w", path, err)
		}
	}
	if cfg.Dir == "" {
		return cfg, fmt.Errorf("read cluster configuration %s: %w", path, errors.New("dir is missing"))
	}
	if cfg.Kubeconfig == "" {
		cfg.Kubeconfig = filepath.Join(cfg.Dir, "kubeconfig")
	}
	if cfg.ReadyFile == "" {
		cfg.ReadyFile = filepath.Join(cfg.Dir, "ready.json")
	}
	return cfg, nil
}

func (s *Server) announce(cfg RunConfig) (Ready, error) {
	control, err := s.Control()
	if err != nil {
		return Ready{}, err
	}
	if err := s.Kubeconfig(cfg.Kubeconfig); err != nil {
		return Ready{}, err
	}
	r := Ready{os.Getpid(), cfg.Kubeconfig, s.cfg.Context, s.URL(), s.UploadURL(), control.URL(), control.Token()}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return r, fmt.Errorf("write ready file: %w", err)
	}
	if err := writeFile(cfg.ReadyFile, raw); err != nil {
		return r, fmt.Errorf("write ready file: %w", err)
	}
	return r, nil
}

// ReadReady reads a ready file; it fails with fs.ErrNotExist as long as the cluster is not up.
func ReadReady(path string) (Ready, error) {
	var r Ready
	raw, err := os.ReadFile(path)
	if err != nil {
		return r, fmt.Errorf("read ready file: %w", err)
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return r, fmt.Errorf("read ready file %s: %w", path, err)
	}
	return r, nil
}
