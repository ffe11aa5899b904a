// Package warm holds the tables of an online migration: a coordinator over one worker per disk. The tables say what
// follows what; it knows no driver, no store and not the cold migration's phases.
package warm
