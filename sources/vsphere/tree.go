package vsphere

import (
	"path"
	"strings"

	"github.com/vmware/govmomi/vim25/types"
)

// tree is the inventory above the VMs, read at once, from which every VM's folder path is told.
type tree map[types.ManagedObjectReference]node

type node struct {
	name   string // as shown
	raw    string // as the API has it
	parent *types.ManagedObjectReference
}

// deepest bounds a path, should an inventory's parents ever form a ring.
const deepest = 64

func (t tree) add(ref types.ManagedObjectReference, b bag) {
	n := node{name: shown(get[string](b, "name")), raw: get[string](b, "name")}
	// A vApp's parent is a resource pool: its place among the folders is told by the others.
	for _, path := range []string{"parentFolder", "parentVApp", "parent"} {
		if p, ok := b[path].(types.ManagedObjectReference); ok && n.parent == nil {
			n.parent = &p
		}
	}
	t[ref] = n
}

// path is where an object with this parent is, such as "/DC0/vm/web". The root folder is left out, as operators do.
func (t tree) path(parent *types.ManagedObjectReference) string {
	var names []string
	for range deepest {
		if parent == nil {
			break
		}
		n, ok := t[*parent]
		if !ok || n.parent == nil {
			break // the root, or what this user may not see
		}
		names = append([]string{n.name}, names...)
		parent = n.parent
	}
	return path.Join("/", strings.Join(names, "/"))
}

// datacenter is the inventory path of the datacenter that an object is in, as the file access wants it: without a
// leading slash, names as the API has them.
func (t tree) datacenter(parent *types.ManagedObjectReference) string {
	var names []string
	for range deepest {
		if parent == nil {
			break
		}
		n, ok := t[*parent]
		if !ok || n.parent == nil {
			break
		}
		if parent.Type == "Datacenter" || len(names) > 0 {
			names = append([]string{n.raw}, names...)
		}
		parent = n.parent
	}
	return strings.Join(names, "/")
}

// shown is a name as people know it: the API escapes slash, backslash and percent in names.
func shown(name string) string {
	return unescape.Replace(name)
}

var unescape = strings.NewReplacer("%2f", "/", "%2F", "/", "%5c", `\`, "%5C", `\`, "%25", "%")
