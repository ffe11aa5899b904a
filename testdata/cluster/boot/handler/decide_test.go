package main

import (
	"testing"

	virt "kubevirt.io/api/core/v1"
)

func TestDecide(t *testing.T) {
	for _, c := range []struct {
		what string
		see  sight
		want move
	}{
		{"not handed over yet", sight{phase: virt.Scheduling}, nothing},
		{"not handed over, and deleted", sight{phase: virt.Scheduling, leaving: true}, nothing},
		{"handed over", sight{phase: virt.Scheduled}, start},
		{"handed over, and deleted at once", sight{phase: virt.Scheduled, leaving: true}, tellSucceeded},
		{"started, and not told yet", sight{phase: virt.Scheduled, guest: alive}, follow},
		{"runs", sight{phase: virt.Running, guest: alive}, follow},
		{"runs, and deleted", sight{phase: virt.Running, guest: alive, leaving: true}, shutDown},
		{"started, deleted before it was told", sight{phase: virt.Scheduled, guest: alive, leaving: true}, shutDown},
		{"powered off by itself", sight{phase: virt.Running, guest: poweredOff}, tellSucceeded},
		{"crashed", sight{phase: virt.Running, guest: crashed}, tellFailed},
		{"cut on request", sight{phase: virt.Running, guest: crashed, leaving: true}, tellSucceeded},
		{"gone with an earlier handler", sight{phase: virt.Running}, tellFailed},
		{"end was told", sight{phase: virt.Succeeded, guest: poweredOff}, forget},
		{"failed by others while it runs", sight{phase: virt.Failed, guest: alive}, forget},
	} {
		if got := decide(c.see); got != c.want {
			t.Errorf("%s: %d, want %d", c.what, got, c.want)
		}
	}
}
