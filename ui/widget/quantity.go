package widget

import (
	"fmt"
	"time"
)

// Bytes says an amount in at most eight characters, such as "1.5 GiB".
func Bytes(n int64) string {
	if n < 0 {
		return "unknown"
	}
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n), -1
	for v >= 1023.5 && unit < 5 {
		v /= 1024
		unit++
	}
	if v < 9.95 {
		return fmt.Sprintf("%.1f %ciB", v, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", v, "KMGTPE"[unit])
}

// Rate says bytes per second, "" where nothing moves.
func Rate(perSecond float64) string {
	if perSecond < 1 {
		return ""
	}
	return Bytes(int64(perSecond)) + "/s"
}

// Span says a duration in its two largest units, such as "2h05m".
func Span(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	s := int64(d / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm%02ds", s/60, s%60)
	case s < 86400:
		return fmt.Sprintf("%dh%02dm", s/3600, s/60%60)
	}
	return fmt.Sprintf("%dd%02dh", s/86400, s/3600%24)
}

// Age says how long ago something was, in one unit, so that it rarely changes.
func Age(d time.Duration) string {
	s := int64(max(0, d) / time.Second)
	switch {
	case s < 60:
		return fmt.Sprintf("%ds", s)
	case s < 3600:
		return fmt.Sprintf("%dm", s/60)
	case s < 86400:
		return fmt.Sprintf("%dh", s/3600)
	}
	return fmt.Sprintf("%dd", s/86400)
}

// Since says Age from a moment, "" for the zero time.
func Since(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Age(now.Sub(t))
}

// ETA says seconds that are left; nought is unknown.
func ETA(seconds float64) string {
	if seconds <= 0 {
		return "unknown"
	}
	return Span(time.Duration(seconds * float64(time.Second)))
}

// Clock says the time of day, with the date where it is another day than now's.
func Clock(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	t = t.In(now.Location())
	if y, d := t.YearDay(), now.YearDay(); y == d && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("01-02 15:04")
}

// Count says a number with its noun.
func Count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return Thousands(n) + " " + many
}

// Thousands groups the digits of a number.
func Thousands(n int) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
