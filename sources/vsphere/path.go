package vsphere

import (
	"net/url"
	"path"
	"strings"
)

// filePath is a file on a datastore, "[datastore] folder/name".
type filePath struct {
	datastore string
	name      string
}

// parsePath reads the API's form. The datastore ends at the first "] ", for names may hold brackets.
func parsePath(s string) (filePath, bool) {
	if !strings.HasPrefix(s, "[") {
		return filePath{}, false
	}
	ds, name, ok := strings.Cut(s[1:], "] ")
	if !ok {
		ds, ok = strings.CutSuffix(s[1:], "]") // the root of a datastore
	}
	return filePath{ds, name}, ok && ds != ""
}

func (p filePath) String() string { return "[" + p.datastore + "] " + p.name }

// folder is the folder that the file is in.
func (p filePath) folder() filePath {
	dir := path.Dir(p.name)
	if dir == "." {
		dir = ""
	}
	return filePath{p.datastore, dir}
}

// beside is a file in the same folder.
func (p filePath) beside(name string) filePath {
	return filePath{p.datastore, path.Join(p.folder().name, name)}
}

// url is the file's address for the host's file access. Every segment is escaped by itself, and everything in it that
// is not a letter, a digit or one of -._~ is escaped: hosts read a bare "+" as a space. Some releases take the escaping
// off twice and so want it put on twice.
func (p filePath) url(base url.URL, datacenter string, twice bool) *url.URL {
	esc := escape
	if twice {
		esc = func(s string) string { return escape(escape(s)) }
	}
	segments := strings.Split(p.name, "/")
	escaped := make([]string, len(segments))
	for i, s := range segments {
		escaped[i] = esc(s)
	}
	raw := "/folder/" + strings.Join(escaped, "/")
	base.RawPath = raw
	base.Path, _ = url.PathUnescape(raw)
	base.RawQuery = "dcPath=" + esc(datacenter) + "&dsName=" + esc(p.datastore)
	return &base
}

// plain tells whether escaping twice is the same as once.
func (p filePath) plain(datacenter string) bool {
	for _, s := range append(strings.Split(p.name, "/"), datacenter, p.datastore) {
		if escape(s) != s {
			return false
		}
	}
	return true
}

func escape(s string) string {
	return strings.ReplaceAll(url.QueryEscape(s), "+", "%20")
}
