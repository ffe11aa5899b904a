package data

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// save writes the tarball that docker would have saved.
func (i Image) save(to string, files map[string]string) (err error) {
	layer := to + ".layer"
	defer os.Remove(layer)
	digest, err := i.layer(layer, files)
	if err != nil {
		return err
	}
	config, err := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux",
		"config": map[string]any{"Entrypoint": i.Entrypoint, "User": i.User, "Env": []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin"}},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{"sha256:" + digest}},
	})
	if err != nil {
		return err
	}
	sum := sha256.Sum256(config)
	name := hex.EncodeToString(sum[:]) + ".json"
	manifest, err := json.Marshal([]any{map[string]any{"Config": name, "RepoTags": []string{i.Name}, "Layers": []string{"layer.tar"}}})
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	t := tar.NewWriter(f)
	for _, e := range []struct {
		name string
		b    []byte
	}{{name, config}, {"manifest.json", manifest}} {
		if err := addBytes(t, e.name, e.b); err != nil {
			return err
		}
	}
	if err := addFile(t, "layer.tar", layer, 0o644); err != nil {
		return err
	}
	return t.Close()
}

// layer writes the file system, and gives its digest.
func (i Image) layer(to string, files map[string]string) (digest string, err error) {
	f, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	t := tar.NewWriter(io.MultiWriter(f, h))
	dirs := map[string]int64{"tmp": 0o1777, "etc": 0o755, "home": 0o755, "var": 0o755, "var/run": 0o755, "proc": 0o755, "dev": 0o755, "sys": 0o755}
	for _, p := range slices.Concat(sorted(files), sorted(i.Links)) {
		for d := path.Dir(strings.TrimPrefix(p, "/")); d != "." && dirs[d] == 0; d = path.Dir(d) {
			dirs[d] = 0o755
		}
	}
	for _, d := range sorted(dirs) {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: d + "/", Mode: dirs[d]}); err != nil {
			return "", err
		}
	}
	if err := addBytes(t, "etc/passwd", []byte("root:x:0:0:root:/:/bin/sh\nqemu:x:107:107:qemu:/:/sbin/nologin\n")); err != nil {
		return "", err
	}
	for _, p := range sorted(files) {
		if err := addFile(t, strings.TrimPrefix(p, "/"), files[p], 0o755); err != nil {
			return "", err
		}
	}
	for _, p := range sorted(i.Links) {
		if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: strings.TrimPrefix(p, "/"), Linkname: i.Links[p], Mode: 0o777}); err != nil {
			return "", err
		}
	}
	if err := t.Close(); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func addBytes(t *tar.Writer, name string, b []byte) error {
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(b))}); err != nil {
		return err
	}
	_, err := io.Copy(t, bytes.NewReader(b))
	return err
}

func addFile(t *tar.Writer, name, from string, mode int64) error {
	real, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	f, err := os.Open(real)
	if err != nil {
		return err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return err
	}
	if err := t.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: mode, Size: st.Size()}); err != nil {
		return err
	}
	_, err = io.Copy(t, f)
	return err
}
