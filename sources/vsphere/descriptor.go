package vsphere

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"

	"landfall/engine/fault"
)

// descriptorLimit bounds what is read as a descriptor. Real ones are below a kilobyte; a disk of one file would be read
// whole otherwise.
const descriptorLimit = 64 << 10

// descriptor is the small text file that names the files of a virtual disk.
type descriptor struct {
	createType string
	parent     string // parentCID; "" or all f where there is none
	extents    []extent
}

type extent struct {
	access  string // RW, RDONLY, NOACCESS
	sectors int64
	kind    string // VMFS, SESPARSE, …
	file    string
}

// parseDescriptor reads a descriptor. What is something else is recognised and named.
func parseDescriptor(b []byte) (descriptor, error) {
	var d descriptor
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf")) // editors of Windows put it there
	if what := notText(b); what != "" {
		return d, unsupported("it is %s, not a descriptor", what)
	}
	encoding, signed := "UTF-8", false
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if strings.EqualFold(line, "# Disk DescriptorFile") {
			signed = true
		}
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if e, ok, err := parseExtent(line); err != nil {
			return d, err
		} else if ok {
			d.extents = append(d.extents, e)
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(strings.TrimSpace(key)) {
		case "createtype":
			d.createType = value
		case "parentcid":
			d.parent = strings.ToLower(value)
		case "encoding":
			encoding = value
		}
	}
	if !signed && d.createType == "" {
		return d, unsupported("it is not a descriptor")
	}
	for i, e := range d.extents {
		name, err := decode(e.file, encoding)
		if err != nil {
			return d, err
		}
		d.extents[i].file = name
	}
	return d, nil
}

// notText names what a binary file is, or gives "".
func notText(b []byte) string {
	switch {
	case bytes.HasPrefix(b, []byte("KDMV")):
		return "a sparse disk in one file (monolithicSparse or streamOptimized)"
	case bytes.HasPrefix(b, []byte("COWD")):
		return "a sparse extent (vmfsSparse)"
	case bytes.HasPrefix(b, []byte{0xbe, 0xba, 0xfe, 0xca}):
		return "a space-efficient sparse extent (seSparse)"
	case len(b) > descriptorLimit:
		return "larger than any descriptor"
	case bytes.IndexByte(b, 0) >= 0:
		return "binary"
	case len(bytes.TrimSpace(b)) == 0:
		return "empty"
	}
	return ""
}

// parseExtent reads `RW 41943040 VMFS "name-flat.vmdk"`. A name may hold spaces and quotes: it reaches from the first
// quote to the last.
func parseExtent(line string) (e extent, ok bool, err error) {
	access, rest := word(line)
	switch access = strings.ToUpper(access); access {
	case "RW", "RDONLY", "NOACCESS":
	default:
		return e, false, nil
	}
	count, rest := word(rest)
	kind, rest := word(rest)
	kind = strings.ToUpper(kind)
	e = extent{access: access, kind: kind}
	e.sectors, err = strconv.ParseInt(count, 10, 64)
	if err != nil || e.sectors < 0 || e.sectors > 1<<53 {
		return e, false, damaged("extent of %q sectors", count)
	}
	if open, last := strings.IndexByte(rest, '"'), strings.LastIndexByte(rest, '"'); open >= 0 && last > open {
		e.file = rest[open+1 : last]
		if after := strings.TrimSpace(rest[last+1:]); after != "" && after != "0" {
			return e, false, unsupported("an extent starts at %s of its file", after)
		}
	} else if kind != "ZERO" {
		return e, false, damaged("extent %q names no file", line)
	}
	return e, true, nil
}

// word cuts off what reaches to the next blank.
func word(s string) (first, rest string) {
	s = strings.TrimLeft(s, " \t")
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], s[i:]
	}
	return s, ""
}

// decode gives a file name in UTF-8, as the host's file access wants it.
func decode(name, encoding string) (string, error) {
	ascii := strings.IndexFunc(name, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
	if ascii || strings.EqualFold(encoding, "UTF-8") && utf8.ValidString(name) {
		return name, nil
	}
	enc, err := htmlindex.Get(encoding)
	if err != nil {
		return "", unsupported("its names are in the encoding %q", encoding)
	}
	out, err := enc.NewDecoder().String(name)
	if err != nil || strings.ContainsRune(out, utf8.RuneError) {
		return "", damaged("the name %q is not in its encoding %s", name, encoding)
	}
	return out, nil
}

// flat gives the one file that holds the disk's bytes as they are, or says why there is none.
func (d descriptor) flat() (extent, error) {
	kind := d.createType
	if kind == "" {
		kind = "no createType"
	}
	switch {
	case d.parent != "" && d.parent != "ffffffff":
		return extent{}, unsupported("it is a delta on another disk (%s)", kind)
	case len(d.extents) == 0:
		return extent{}, damaged("it names no extent")
	case len(d.extents) > 1:
		return extent{}, unsupported("it is kept in %d files (%s)", len(d.extents), kind)
	}
	e := d.extents[0]
	switch {
	case e.kind == "VMFSRDM":
		return extent{}, unsupported("it is a raw device and no file (%s)", kind)
	case e.kind == "SESPARSE" || e.kind == "VMFSSPARSE" || e.kind == "SPARSE":
		return extent{}, unsupported("its extent is sparse, %s (%s)", e.kind, kind)
	case e.kind != "VMFS" || d.createType != "" && !strings.EqualFold(d.createType, "vmfs"):
		return extent{}, unsupported("its extent is %s (%s)", e.kind, kind)
	case e.access != "RW":
		return extent{}, unsupported("its extent is %s", e.access)
	case strings.Contains(e.file, "://"):
		return extent{}, unsupported("its bytes are an object, %s", e.file) // vSAN and virtual volumes
	case strings.ContainsAny(e.file, "/\\\x00") || e.file == "" || e.file == "." || e.file == "..":
		return extent{}, unsupported("its extent %q is not a file beside it", e.file)
	}
	return e, nil
}

func unsupported(format string, args ...any) error {
	return fault.Hint(fault.Newf(fault.Blocked, fault.Unsupported, "the folder reader cannot read it: %s", fmt.Sprintf(format, args...)),
		"remove snapshots and consolidate, or clone the disk into a plain one (vmkfstools -i)")
}

func damaged(format string, args ...any) error {
	return fault.Newf(fault.Blocked, fault.Damaged, "its descriptor is damaged: %s", fmt.Sprintf(format, args...))
}
