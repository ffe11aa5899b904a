module landfall/testdata/cluster

go 1.26.0

require (
	github.com/gofrs/flock v0.13.2
	github.com/spf13/cobra v1.9.1
	golang.org/x/sys v0.50.0
	k8s.io/api v0.34.4
	k8s.io/apimachinery v0.34.4
	k8s.io/client-go v0.34.4
	sigs.k8s.io/yaml v1.6.0
)

replace k8s.io/kube-openapi => k8s.io/kube-openapi v0.0.0-20250710124328-f3f2b991d03b
