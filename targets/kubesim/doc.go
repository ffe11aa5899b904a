// Package kubesim is a Kubernetes cluster with CDI and KubeVirt that lives in one process: the demo migrates into it and
// tests look at what a client did to it. It speaks the real API over HTTPS to unmodified clients, keeps the bytes that are
// uploaded to it, moves DataVolumes through the phases that were recorded from a real CDI, and runs guests that answer only
// from the contents of the disk that arrived.
//
// It must not know the product that is tested against it: nothing of the module outside of this folder is imported.
package kubesim
