package preflight

import (
	"regexp"
	"strconv"
	"strings"
)

// convertibleGuests are the guests that virt-v2v prepares, by VMware's id, and from and to which release where the id tells it.
var convertibleGuests = []struct {
	family   *regexp.Regexp
	from, to int
}{
	{regexp.MustCompile(`(?i)^(?:rhel|centos|oracleLinux|rockylinux|almalinux)(\d+)`), 7, 10},
	{regexp.MustCompile(`(?i)^(?:rockylinux|almalinux|fedora|debian|ubuntu|sles|opensuse)`), 0, 0},
	{regexp.MustCompile(`(?i)^windows(9|10|11|12)_`), 9, 12}, // 9 is VMware's number for Windows 10
	{regexp.MustCompile(`(?i)^windows9Server`), 0, 0},        // 2016
	{regexp.MustCompile(`(?i)^windows(2019|2022|2025)srv`), 2019, 2025},
}

func convertible(guestID string) bool {
	for _, g := range convertibleGuests {
		m := g.family.FindStringSubmatch(guestID)
		if m == nil {
			continue
		}
		if len(m) == 1 {
			return true
		}
		n, err := strconv.Atoi(m[1])
		return err == nil && n >= g.from && n <= g.to
	}
	return false
}

func windows(guestID string) bool { return strings.HasPrefix(strings.ToLower(guestID), "win") }
