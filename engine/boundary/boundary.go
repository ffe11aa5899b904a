// Package boundary marks the places where a process may die between two writes. In the product a mark costs one
// load; a test sets Hook and kills the process at the n-th mark, to prove that every one of them can be survived.
// It must not know anything of the product.
package boundary

// Kind is the sort of write that a mark stands before or after.
type Kind string

const (
	Commit    Kind = "store commit"
	SourceAct Kind = "source act"
	TargetAct Kind = "target act"
	Chunk     Kind = "chunk write"
	Sync      Kind = "sync"
	Rename    Kind = "rename"
	Create    Kind = "create"
)

// Hook is called at every mark. It is set once, before the engine starts, by tests only.
var Hook func(k Kind, name string)

// Cross marks a boundary. Call it right before and right after a write that others can see.
func Cross(k Kind, name string) {
	if Hook != nil {
		Hook(k, name)
	}
}
