package data

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// entries reads a tarball.
func entries(t *testing.T, r io.Reader) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for tr := tar.NewReader(r); ; {
		h, err := tr.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeSymlink {
			b = []byte("-> " + h.Linkname)
		}
		all[h.Name] = b
	}
}

func TestTarballHoldsWhatContainerdChecks(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	if err := os.WriteFile(program, []byte("program"), 0o600); err != nil {
		t.Fatal(err)
	}
	i := Image{Name: "landfall.lab/x:1", Links: map[string]string{"/bin/y": "x"}, Entrypoint: []string{"/bin/x"}, User: "1001"}
	to := filepath.Join(dir, "x.tar")
	if err := i.save(to, map[string]string{"/bin/x": program}); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(to)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := entries(t, f)
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(all["manifest.json"], &manifest); err != nil || len(manifest) != 1 || len(manifest[0].Layers) != 1 || manifest[0].RepoTags[0] != i.Name {
		t.Fatalf("the manifest is %s: %v", all["manifest.json"], err)
	}
	var config struct {
		RootFS struct {
			DiffIDs []string `json:"diff_ids"`
		}
	}
	if err := json.Unmarshal(all[manifest[0].Config], &config); err != nil {
		t.Fatal(err)
	}
	layer := all[manifest[0].Layers[0]]
	sum := sha256.Sum256(layer)
	if want := "sha256:" + hex.EncodeToString(sum[:]); len(config.RootFS.DiffIDs) != 1 || config.RootFS.DiffIDs[0] != want {
		t.Errorf("the configuration names the layers %v, want %s", config.RootFS.DiffIDs, want)
	}
	files := entries(t, bytes.NewReader(layer))
	if got := string(files["bin/x"]) + " " + string(files["bin/y"]); got != "program -> x" {
		t.Errorf("the layer has %q", got)
	}
	if _, ok := files["tmp/"]; !ok {
		t.Error("the layer has no /tmp")
	}
}

func TestImageIsMadeAnewWhenAFileChanges(t *testing.T) {
	file := filepath.Join(t.TempDir(), "program")
	i := Image{Name: "landfall.lab/x:1"}
	var keys []string
	for _, content := range []string{"one", "one more"} {
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			k, err := i.key(map[string]string{"/x": file})
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, k)
		}
	}
	if keys[0] != keys[1] || keys[2] != keys[3] || keys[1] == keys[2] {
		t.Errorf("the keys are %v", keys)
	}
}
