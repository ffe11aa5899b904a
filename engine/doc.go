// Package engine moves virtual machines by reconciliation checkpoints. It holds the domain types, the phase table, the
// turn (observe, decide, act, record), decisions and permits. It knows the contracts of sources, targets and store and
// must never import one of their implementations, nor anything of ui.
package engine
