package data

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"

	"landfall/testdata/cluster/lab"
)

// Image is an image that is made of files of this machine.
type Image struct {
	Name       string
	Files      map[string]string // path in the image: path here; the libraries of a program come with it
	Links      map[string]string // path in the image: what it leads to
	Entrypoint []string
	User       string
}

// AddImage makes an image and puts it into the node's containerd. One that is there already, of the same files, is left.
func AddImage(ctx context.Context, l *lab.Lab, i Image) error {
	files := map[string]string{}
	for to, from := range i.Files {
		files[to] = from
		libs, err := libraries(ctx, from)
		if err != nil {
			return fmt.Errorf("make the image %s: %w", i.Name, err)
		}
		for _, lib := range libs {
			files[lib] = lib
		}
	}
	key, err := i.key(files)
	if err != nil {
		return fmt.Errorf("make the image %s: %w", i.Name, err)
	}
	mark := l.Path("containerd", "image-"+strings.NewReplacer("/", "-", ":", "-").Replace(i.Name))
	if b, err := os.ReadFile(mark); err == nil && string(b) == key {
		return nil
	}
	tarball := mark + ".tar"
	defer os.Remove(tarball)
	if err := i.save(tarball, files); err != nil {
		return fmt.Errorf("make the image %s: %w", i.Name, err)
	}
	if _, err := ctr(ctx, l, "images", "import", "--no-unpack=false", tarball); err != nil {
		return fmt.Errorf("make the image %s: %w", i.Name, err)
	}
	return os.WriteFile(mark, []byte(key), 0o600)
}

var library = regexp.MustCompile(`(/\S+) \(0x`)

// libraries are those that a program is linked to, and the loader.
func libraries(ctx context.Context, program string) ([]string, error) {
	out, err := exec.CommandContext(ctx, "ldd", program).CombinedOutput()
	if err != nil {
		if strings.Contains(string(out), "not a dynamic executable") || strings.Contains(string(out), "statically linked") {
			return nil, nil
		}
		return nil, fmt.Errorf("ldd %s: %w: %s", program, err, out)
	}
	var libs []string
	for _, m := range library.FindAllStringSubmatch(string(out), -1) {
		libs = append(libs, m[1])
	}
	return libs, nil
}

// key names what an image is made of.
func (i Image) key(files map[string]string) (string, error) {
	h := sha256.New()
	b, err := json.Marshal(i)
	if err != nil {
		return "", err
	}
	h.Write(b)
	for _, to := range sorted(files) {
		st, err := os.Stat(files[to])
		if err != nil {
			return "", err
		}
		fmt.Fprintln(h, to, files[to], st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

func sorted[V any](m map[string]V) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
