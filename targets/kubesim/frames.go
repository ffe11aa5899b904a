package kubesim

import "strings"

// frame is one status of a DataVolume that a watcher sees. The scripts below were recorded from a real CDI; reading one
// from top to bottom is reading what CDI does.
type frame struct {
	phase    string
	progress string
	bound    string // status/reason of the condition, e.g. "False/Pending"
	ready    string
	running  string
	message  string // of the condition Running
	restarts int64
	pod      string // phase of the worker pod meanwhile, "" is none
	scratch  bool   // the scratch claim exists
	slow     bool   // only where the scheduler is slow
	refusal  string // the API server's words for why there is no claim
	until    gate   // what must be true to go on
}

// gate is what a script waits for.
type gate int

const (
	paced     gate = iota // one pace
	bound                 // the claim is bound
	scratch               // the scratch claim is bound
	received              // an upload has arrived as a whole
	furnished             // the importer's secret is there
	probed                // the source has answered
	fetched               // the source is in the scratch space
	copied                // the volume holds the image
	ended                 // nothing any more
)

const (
	yes      = "True/Bound"
	no       = "False/Pending"
	off      = "False/"
	pulling  = "True/Pod is running"
	busy     = "False/TransferRunning"
	creating = "False/ContainerCreating"
	done     = "False/Completed"
	unsched  = "False/Unschedulable"
	needs    = "False/Scratch space required"
	na       = "N/A"

	making    = "False/CreatingScratchSpace"
	unbound   = "False/Claim Pending"
	noScratch = "scratch space required and none found"
	tooSmall  = "DataVolume too small to contain image"
)

var uploadScript = []frame{
	{phase: "Pending", progress: na, bound: no, ready: off, running: off, until: bound},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending"},
	{phase: "UploadScheduled", progress: na, bound: making, ready: off, running: off, pod: "Pending", scratch: true},
	{phase: "UploadScheduled", progress: na, bound: unbound, ready: off, running: off, pod: "Pending", scratch: true},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending", scratch: true, until: scratch},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending", scratch: true},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true},
	{phase: "UploadReady", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: received},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: done, message: "Upload Complete", pod: "Succeeded"},
	{phase: "Succeeded", progress: na, bound: yes, ready: "True/", running: done, message: "Upload Complete", until: ended},
}

var importScript = []frame{
	{phase: "Pending", progress: na, bound: no, ready: off, running: off, until: bound},
	{phase: "Pending", progress: na, bound: no, ready: off, running: unsched, pod: "Pending", slow: true},
	{phase: "PVCBound", progress: na, bound: yes, ready: off, running: off},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: unsched, pod: "Pending", slow: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending"},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending"},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending", until: furnished},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", until: probed},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: off, running: needs, message: noScratch, pod: "Failed"},
	{phase: "ImportScheduled", progress: na, bound: making, ready: off, running: needs, message: noScratch, pod: "Pending", scratch: true},
	{phase: "ImportScheduled", progress: na, bound: unbound, ready: off, running: needs, message: noScratch, pod: "Pending", scratch: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: needs, message: noScratch, pod: "Pending", scratch: true, until: scratch},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: unsched, pod: "Pending", scratch: true, slow: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: needs, message: noScratch, pod: "Pending", scratch: true, slow: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending", scratch: true},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: fetched},
	{phase: "ImportInProgress", progress: "100.00%", bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: copied},
	{phase: "ImportInProgress", progress: "100.00%", bound: yes, ready: off, running: done, message: "Import Complete", pod: "Succeeded"},
	{phase: "Succeeded", progress: "100.0%", bound: yes, ready: "True/", running: done, message: "Import Complete", until: ended},
}

var blankScript = []frame{
	{phase: "Pending", progress: na, bound: no, ready: off, running: off, until: bound},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending"},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", until: copied},
	{phase: "Succeeded", progress: "100.0%", bound: yes, ready: "True/", running: done, message: "Import Complete", until: ended},
}

// failing is the frame after the nth thing that went wrong in an import. CDI never gives up: the importer is restarted for
// ever, and the phase stays.
func failing(base frame, n int64, message string) frame {
	f := base
	f.restarts = n / 2
	if retrying(n) {
		f.ready, f.running, f.message = busy, pulling, ""
		return f
	}
	f.ready, f.running, f.message, f.pod, f.until = off, "False/Error", message, "Running", paced
	return f
}

// retrying says what the importer does in that frame: nothing until the pause is over, or working.
func retrying(n int64) bool { return n > 0 && n%2 == 0 }

// unfound is what a DataVolume shows that has no claim yet.
var unfound = frame{phase: "Pending", bound: "Unknown/NotFound", ready: off, running: off}

// refusedClaim is what it shows when the API server does not take its claim.
func refusedClaim(reason, message string) frame {
	return frame{phase: "Pending", bound: "Unknown/" + reason, ready: "False/" + reason, running: off, refusal: message}
}

// boundMessage is the message of the condition Bound.
func (f frame) boundMessage(claim string) string {
	if f.refusal != "" {
		return f.refusal
	}
	switch f.bound {
	case unfound.bound:
		return "No PVC found"
	case making:
		return "Creating scratch space"
	case unbound:
		return "Claim Pending"
	}
	_, reason, _ := strings.Cut(f.bound, "/")
	return "PVC " + claim + " " + reason
}
