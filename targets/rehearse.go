package targets

import "context"

// Rehearser is a Target that shows and tries what a plan makes, without making it.
type Rehearser interface {
	Target

	// Documents gives everything that is made for a plan, in the order in which it is made, as YAML documents. It is a pure
	// function of its input.
	Documents(o Owner, p Plan) (string, error)

	// Rehearse has the cluster itself judge what the plan makes, admission and quota included, and makes nothing. nil: all of
	// it would be taken. A refusal is Blocked, with the cluster's own words.
	Rehearse(ctx context.Context, o Owner, p Plan) error
}

// Founder is a Target that makes a namespace where a person consented to it.
type Founder interface {
	Target

	// CreateNamespace makes the owner's namespace. One that is there already is success. It is never removed again: others
	// may use it by then.
	CreateNamespace(ctx context.Context, o Owner) error
}
