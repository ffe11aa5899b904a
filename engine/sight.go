package engine

// Sight is what was seen of a checkpoint's goal.
type Sight string

const (
	Absent   Sight = "absent"
	Partial  Sight = "partial"  // begun; can be gone on with
	Running  Sight = "running"  // begun, and going on by itself
	Complete Sight = "complete" // the goal is observed
	Broken   Sight = "broken"   // there, but not what was recorded
	Foreign  Sight = "foreign"  // there, but not ours, or not ours to decide
	Unclear  Sight = "unclear"  // could not look: never the same as absent
)

// Move is what follows from a sight.
type Move string

const (
	Start   Move = "start"
	Resume  Move = "resume"
	Wait    Move = "wait"
	Advance Move = "advance"
	Redo    Move = "redo"
	Ask     Move = "ask"
)

// decide is pure, so that every combination can be tested without a cluster.
func decide(s Sight) Move {
	switch s {
	case Absent:
		return Start
	case Partial:
		return Resume
	case Complete:
		return Advance
	case Broken:
		return Redo
	case Foreign:
		return Ask
	}
	return Wait // Running goes on; Unclear: could not look is never Absent
}
