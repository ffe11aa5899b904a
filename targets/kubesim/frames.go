package kubesim

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
	until    gate   // what must be true to go on
}

// gate is what a script waits for.
type gate int

const (
	paced    gate = iota // one pace
	bound                // the claim is bound
	scratch              // the scratch claim is bound
	received             // an upload has arrived as a whole
	probed               // the source has answered
	fetched              // the source is in the scratch space and nearly converted
	copied               // the volume holds the image
	ended                // nothing any more
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
)

var uploadScript = []frame{
	{phase: "Pending", progress: na, bound: no, ready: off, running: off, until: bound},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending", scratch: true, until: scratch},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending", scratch: true},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true},
	{phase: "UploadReady", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: received},
	{phase: "UploadScheduled", progress: na, bound: yes, ready: off, running: done, message: "Upload Complete", pod: "Succeeded"},
	{phase: "Succeeded", progress: na, bound: yes, ready: "True/", running: done, message: "Upload Complete", until: ended},
}

var importScript = []frame{
	{phase: "Pending", progress: na, bound: no, ready: off, running: off},
	{phase: "Pending", progress: na, bound: no, ready: off, running: unsched, pod: "Pending", until: bound},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: unsched, pod: "Pending"},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: off, pod: "Pending"},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending"},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", until: probed},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: off, running: needs, pod: "Failed"},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: needs, pod: "Pending", scratch: true, until: scratch},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: unsched, pod: "Pending", scratch: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: needs, pod: "Pending", scratch: true},
	{phase: "ImportScheduled", progress: na, bound: yes, ready: off, running: creating, pod: "Pending", scratch: true},
	{phase: "ImportInProgress", progress: na, bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: fetched},
	{phase: "ImportInProgress", progress: "97.01%", bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true, until: copied},
	{phase: "ImportInProgress", progress: "100.00%", bound: yes, ready: busy, running: pulling, pod: "Running", scratch: true},
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
// ever, every second restart is over before anybody sees it run, and the phase stays.
func failing(base frame, n int64, message string) frame {
	f := base
	f.ready, f.running, f.message, f.pod, f.until = off, "False/Error", message, "Running", paced
	if n == 1 {
		return f
	}
	round, at := (n-2)/3, (n-2)%3
	f.restarts = 2*round + 1
	if at > 0 {
		f.restarts++
	}
	if at == 1 {
		f.ready, f.running, f.message, f.until = busy, pulling, "", base.until
	}
	return f
}

// retrying says what the importer does in that frame: nothing until the pause is over, or working in sight.
func retrying(n int64) (seen bool) { return n >= 2 && (n-2)%3 == 1 }

// hidden says that the attempt after that frame fails before anybody sees it run.
func hiddenAttempt(n int64) bool { return n == 1 || n >= 2 && (n-2)%3 == 2 }
