package engine

import (
	"cmp"
	"context"
	"time"

	"landfall/engine/fault"
	"landfall/engine/machine"
	"landfall/engine/preflight"
	"landfall/engine/spec"
	"landfall/sources"
	"landfall/targets"
)

// candidate is a VM and what is wanted of it, as the rules are asked about it: a migration's, or a draft's.
type candidate struct {
	uid     string // of the migration, "" for a draft
	name    string // of the document
	options spec.Spec
	vm      machine.VM
	others  []preflight.Planned // of the same plan, where there is no migration yet
	beside  targets.Question    // what is asked of the cluster with it for others
}

// notYet stands for the UID that a migration gets when it is made.
const notYet = "00000000-0000-0000-0000-000000000000"

func (c candidate) owner() targets.Owner {
	return targets.Owner{UID: cmp.Or(c.uid, notYet), Name: c.name, Namespace: c.options.Destination.Namespace}
}

// target is the name that the virtual machine gets.
func (c candidate) target() string { return targets.VMName(c.vm, c.options) }

func (c candidate) question() targets.Question {
	o := c.options
	q := targets.Question{Namespace: o.Destination.Namespace, VMName: c.target(), Owner: c.owner(), Delivery: o.Strategy.Delivery}
	for _, d := range c.vm.DiskList {
		if m, ok := o.StorageFor(d.Datastore); ok {
			q.StorageClasses = append(q.StorageClasses, m.StorageClass)
		}
	}
	for _, n := range c.vm.NICs {
		if m, ok := o.NetworkFor(n); ok && m.Type == "Multus" {
			q.Networks = append(q.Networks, preflight.AttachmentName(m.Name, o.Destination.Namespace))
		}
		if o.KeepMAC() && n.MAC != "" {
			q.MACs = append(q.MACs, targets.NormalMAC(n.MAC))
		}
	}
	q.VMNames = c.beside.VMNames
	q.StorageClasses = append(q.StorageClasses, c.beside.StorageClasses...)
	q.Networks = append(q.Networks, c.beside.Networks...)
	q.MACs = append(q.MACs, c.beside.MACs...)
	return q
}

// input is what the candidate is rendered from.
func (c candidate) input(f targets.Facts) targets.Input {
	in := targets.Input{Owner: c.owner(), Spec: c.options, VM: c.vm}
	in.Know(f)
	return in
}

func (c candidate) planned() preflight.Planned {
	return preflight.Planned{VM: c.vm, Spec: c.options, Name: c.target(), Migration: c.uid}
}

// outside is how the facts of the world are looked up; what many candidates share may be looked up once for all of them.
type outside struct {
	source func(context.Context, spec.Source) (sources.Source, error)
	target func(context.Context, candidate) (targets.Facts, error)
	beside func(context.Context) ([]preflight.Planned, error)
	listed func(context.Context, spec.Source) ([]machine.VM, error)
}

// outside looks everything up anew.
func (e *Engine) outside() outside {
	return outside{
		source: e.sources.get,
		target: func(ctx context.Context, c candidate) (targets.Facts, error) {
			t, err := e.targets.get(ctx, c.options.Destination)
			if err != nil {
				return targets.Facts{}, err
			}
			return t.Facts(ctx, c.question())
		},
		beside: e.underWay,
		listed: e.listedOf,
	}
}

// facts gathers what the rules judge. A failure that may pass is an error: nothing is judged without a look.
func (e *Engine) facts(ctx context.Context, w outside, c candidate) (preflight.Facts, error) {
	f := preflight.Facts{VM: c.vm, Spec: c.options, Name: c.target(), Now: e.Now()}
	src, err := w.source(ctx, c.options.Source)
	if err != nil {
		return f, err
	}
	about := src.About()
	f.Source = &about
	all, err := w.beside(ctx)
	if err != nil {
		return f, err
	}
	f.Beside = append(f.Beside, c.others...)
	for _, p := range all {
		if p.Migration != c.uid {
			f.Beside = append(f.Beside, p)
		}
	}
	if f.Neighbours, err = w.listed(ctx, c.options.Source); err != nil {
		return f, err
	}
	host := e.Host(ctx, c.options)
	host.Needed, host.Largest = staged(c)
	f.Host = &host
	if p, ok := src.(sources.Prober); ok {
		probe, err := p.Probe(ctx, c.vm)
		if err != nil && fault.ClassOf(err) != fault.Blocked {
			return f, err
		}
		if err != nil {
			probe.Unknown = map[string]string{}
			for _, group := range []string{sources.KnownPrivileges, sources.KnownHost, sources.KnownPorts, sources.KnownReaders, sources.KnownRoom} {
				probe.Unknown[group] = err.Error()
			}
		}
		f.Probe = &probe
	}
	f.Offers = map[string]bool{}
	if _, ok := src.(sources.Live); ok {
		f.Offers[preflight.EnableTracking] = true
	}
	if _, ok := src.(sources.Mender); ok {
		f.Offers[preflight.Consolidate], f.Offers[preflight.RemoveMedia] = true, true
	}
	if t, err := e.targets.get(ctx, c.options.Destination); err == nil {
		_, f.Offers[preflight.CreateNamespace] = t.(targets.Founder)
	}
	target, err := w.target(ctx, c)
	switch {
	case err == nil:
		f.Target = &target
	case fault.ClassOf(err) != fault.Blocked:
		return f, err // may pass: look again, do not judge without the cluster
	default:
		f.TargetFailure = err.Error()
	}
	return f, nil
}

// staged is the room that the images need at most, and the largest of them.
func staged(c candidate) (needed, largest int64) {
	for _, d := range c.vm.DiskList {
		needed += d.Capacity
		largest = max(largest, d.Capacity)
	}
	if used := c.vm.Committed; used > 0 && used < needed {
		needed = used
	}
	if c.options.Strategy.Conversion != spec.ConvertNone {
		needed *= 2 // the raw image and the converted one
	}
	return needed, largest
}

// underWay gives the VMs of the migrations that have not ended.
func (e *Engine) underWay(ctx context.Context) ([]preflight.Planned, error) {
	active, err := e.Store.Active(ctx)
	if err != nil {
		return nil, err
	}
	all := make([]preflight.Planned, len(active))
	for i, m := range active {
		all[i] = m.candidate().planned()
	}
	return all, nil
}

func (m Migration) candidate() candidate {
	c := candidate{uid: m.UID, name: m.Name(), options: m.options()}
	if v := m.Status.Inventory; v != nil {
		c.vm = *v
	} else {
		c.vm.Name, c.vm.Ref = m.Document.Spec.Source.VM.Name, m.Document.Spec.Source.VM.Ref
	}
	return c
}

// listedOf gives the VMs of a source as they were last listed; none where it is not listed.
func (e *Engine) listedOf(ctx context.Context, s spec.Source) ([]machine.VM, error) {
	endpoints, err := e.Store.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	known := map[string]bool{}
	for _, ep := range endpoints {
		known[ep.Name] = spec.Spelt(ep.Source.Address) == spec.Spelt(s.Address)
	}
	list, err := e.Store.Inventory(ctx)
	if err != nil {
		return nil, err
	}
	var vms []machine.VM
	for _, l := range list {
		if known[l.Endpoint] {
			vms = append(vms, l.VM)
		}
	}
	return vms, nil
}

// looked says what was looked at and when.
func looked(f preflight.Facts, now time.Time) map[string]time.Time {
	at := map[string]time.Time{}
	if f.Source != nil {
		at["source"] = now
	}
	if f.Target != nil {
		at["target"] = f.Target.Taken
		for fact, when := range f.Target.Looked {
			at["target/"+fact] = when
		}
	}
	if f.Probe != nil {
		at["source/probe"] = f.Probe.Taken
	}
	if f.Host != nil {
		at["host"] = now
	}
	return at
}
