// Package esxsim is a simulated ESXi host (or vCenter) for tests and for the
// demo: govmomi's simulator behind an HTTPS front of its own, with disks of
// real bytes, locks of running VMs, guests that shut down or refuse to,
// sessions that end, faults by script and counters of everything served.
//
// It promises to be as strict as a real host where a client could be wrong
// without noticing. It knows nothing of the program that talks to it and must
// not import any of it.
package esxsim
