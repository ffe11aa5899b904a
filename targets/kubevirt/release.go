package kubevirt

import (
	"regexp"
	"strconv"

	"landfall/targets"
)

// minimum is the oldest release of a component that will do, and why.
type minimum struct{ since, why string }

var (
	virtMinimum = minimum{"1.0.0", "the API by which preferences and instance types are looked up (instancetype.kubevirt.io/v1beta1) came with it; nothing older was tried"}
	cdiMinimum  = minimum{"1.50.0", "the annotation by which a finished DataVolume is kept came with it; nothing older was tried"}
)

// What came later is used where it is there.
var (
	virtFeatures = []targets.Lack{
		{Feature: targets.FeatureLinkState, Since: "1.5.0", Why: "a NIC that is not connected at power-on comes up connected"},
	}
	cdiFeatures = []targets.Lack{
		{Feature: targets.FeatureZstd, Since: "1.58.0", Why: "uploads are compressed with gzip, which is slower"},
	}
)

// judgeRelease compares a component's version with what is needed. An unknown version lacks nothing that is known.
func judgeRelease(c *targets.Component, m minimum, features []targets.Lack) {
	c.Minimum, c.MinimumWhy = m.since, m.why
	if !isRelease(c.Version) {
		return
	}
	c.Old = before(c.Version, m.since)
	for _, f := range features {
		if before(c.Version, f.Since) {
			c.Lacks = append(c.Lacks, f)
		}
	}
}

var release = regexp.MustCompile(`^v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?`)

func isRelease(v string) bool { return release.MatchString(v) }

// before tells whether release a came before b, by their numbers; what follows them, such as "-rc.1" or a vendor's mark, is
// not looked at. What is no release came before nothing.
func before(a, b string) bool {
	x, y := release.FindStringSubmatch(a), release.FindStringSubmatch(b)
	if x == nil || y == nil {
		return false
	}
	for i := 1; i <= 3; i++ {
		m, _ := strconv.Atoi(x[i])
		n, _ := strconv.Atoi(y[i])
		if m != n {
			return m < n
		}
	}
	return false
}

// readsZstd tells whether a release of CDI is known to read zstd.
func readsZstd(version string) bool {
	return isRelease(version) && !before(version, cdiFeatures[0].Since)
}

func lacks(list []targets.Lack, feature string) bool {
	for _, l := range list {
		if l.Feature == feature {
			return true
		}
	}
	return false
}
