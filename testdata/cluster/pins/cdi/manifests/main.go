// Manifests prints the kinds that CDI brings, as its operator would install them.
package main

import (
	"fmt"
	"maps"
	"slices"

	"kubevirt.io/containerized-data-importer/pkg/operator/resources"
)

func main() {
	for _, name := range slices.Sorted(maps.Keys(resources.CDICRDs)) {
		fmt.Printf("---\n%s\n", resources.CDICRDs[name])
	}
}
