// Package warm is the machine of an online migration: a coordinator over one worker per disk. The tables say what follows
// what; Step says, from what was recorded and what was seen, which phases are left and what is to be done next; the forecast
// says how long the service would be down. All of it is pure: it knows no driver, no store and not the cold migration's
// phases, and every state of it can be written down, killed and gone on with.
package warm
