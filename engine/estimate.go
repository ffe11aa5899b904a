package engine

import (
	"context"
	"fmt"

	"landfall/engine/machine"
	"landfall/engine/spec"
)

const (
	// assumedRate is reckoned with where nothing was copied from the host yet.
	assumedRate = 100 << 20 // bytes per second
	// assumedBoot is reckoned with from the started VM to its checks.
	assumedBoot = 60 // seconds
)

// estimate reckons what the candidate will cost, with what earlier copies of its host showed.
func (e *Engine) estimate(ctx context.Context, c candidate) (*Estimate, error) {
	rate, n, err := e.Store.Rate(ctx, hostOf(c.vm, c.options))
	if err != nil {
		return nil, err
	}
	return estimated(c, rate, n), nil
}

func estimated(c candidate, rate float64, copies int) *Estimate {
	var x Estimate
	for _, d := range c.vm.DiskList {
		x.Capacity += d.Capacity
	}
	x.Read = x.Capacity
	if used := c.vm.Committed; used > 0 && used < x.Read {
		x.Read = used
	}
	x.Rate, x.RateFrom = rate, fmt.Sprintf("measured on this host, %d copies", copies)
	if rate <= 0 {
		x.Rate, x.RateFrom = assumedRate, "assumed: nothing was copied from this host yet"
	}
	if t := float64(c.options.Strategy.Throttle); t > 0 && t < x.Rate {
		x.Rate, x.RateFrom = t, "the document's throttle"
	}
	x.Copy = float64(x.Read) / x.Rate
	x.Deliver = x.Copy
	if c.options.Strategy.Verify == "proved" {
		x.Copy += float64(x.Capacity) / x.Rate // the whole disk is read a second time
	}
	x.Boot = assumedBoot
	if c.vm.Power != machine.Off && c.options.Source.PowerOffPolicy != spec.Never {
		x.Shutdown = float64(c.options.Source.ShutdownSeconds)
	}
	x.Downtime = x.Copy + x.Deliver + x.Boot
	if c.options.Strategy.Type == "Warm" {
		x.Downtime -= x.Copy // it is copied while it runs
	}
	return &x
}

// hostOf is the ESXi host that serves the disks, or the endpoint where it is not known.
func hostOf(vm machine.VM, o spec.Spec) string {
	if vm.Host != "" {
		return vm.Host
	}
	return o.Source.Address
}
