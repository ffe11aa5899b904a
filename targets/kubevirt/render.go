package kubevirt

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	virt "kubevirt.io/api/core/v1"

	"landfall/engine/fault"
	"landfall/engine/spec"
	"landfall/targets"
)

// Render says what is to be made. It depends on nothing but its input: the same input gives the same bytes.
func (t *Target) Render(in targets.Input) (targets.Plan, error) { return Render(in) }

// Render is the pure function behind Target.Render.
func Render(in targets.Input) (targets.Plan, error) {
	if err := checkOwner(in.Owner); err != nil {
		return targets.Plan{}, err
	}
	r := rendering{in: in, guest: guestOf(in.VM.GuestID, in.Spec.Strategy.Conversion)}
	r.name = targets.VMName(in.VM, in.Spec)
	if e := validation.IsDNS1123Label(r.name); len(e) > 0 {
		return targets.Plan{}, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "%q cannot be the name of a VM: %s", bounded(r.name, 128), e[0]), "set spec.destination.vmName to another name")
	}
	ns := in.Owner.Namespace
	if ns == "" {
		ns = in.Spec.Destination.Namespace
	}
	vm := r.machine(ns)
	if r.err != nil {
		return targets.Plan{}, r.err
	}
	manifest, sum, err := encode(vm)
	if err != nil {
		return targets.Plan{}, fmt.Errorf("render %s: %w", r.name, err)
	}
	p := targets.Plan{
		Namespace: ns, Name: r.name, Volumes: r.volumes, Manifest: manifest, Fingerprint: sum, Notes: r.notes,
		MACs: r.macs, Preference: r.chosen,
	}
	if in.Spec.Strategy.Delivery == spec.DeliverHTTP {
		p.Serve = in.Spec.Destination.ServeAddress
	}
	for _, c := range in.Spec.Validation.Checks {
		if c.Type == "HTTP" && !slices.Contains(p.Probes, c.Port) {
			p.Probes = append(p.Probes, c.Port)
		}
	}
	return p, nil
}

// rendering is one render under way; the first thing that cannot be rendered is kept.
type rendering struct {
	in      targets.Input
	guest   guest
	name    string
	volumes []targets.Volume
	macs    []string
	chosen  string // preference
	notes   []string
	err     error
}

func (r *rendering) note(format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf(format, args...))
}

func (r *rendering) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fault.Newf(fault.Blocked, fault.Refused, "render "+r.name+": "+format, args...)
	}
}

func (r *rendering) machine(namespace string) *virt.VirtualMachine {
	halted := virt.RunStrategyHalted
	d := r.in.Spec.Destination
	vm := &virt.VirtualMachine{
		TypeMeta: metav1.TypeMeta{APIVersion: "kubevirt.io/v1", Kind: "VirtualMachine"},
		ObjectMeta: metav1.ObjectMeta{
			Name: r.name, Namespace: namespace, Labels: labels(r.in.Owner), Annotations: r.annotations(),
		},
		Spec: virt.VirtualMachineSpec{
			RunStrategy: &halted,
			Template: &virt.VirtualMachineInstanceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels(r.in.Owner)},
			},
		},
	}
	if d.Instancetype != "" {
		vm.Spec.Instancetype = &virt.InstancetypeMatcher{Name: d.Instancetype}
		if r.in.Instancetypes[d.Instancetype].Namespaced {
			vm.Spec.Instancetype.Kind = "VirtualMachineInstancetype"
		}
	}
	r.preference(vm)
	grace := int64(180)
	s := &vm.Spec.Template.Spec
	s.Architecture = targets.Architecture
	s.TerminationGracePeriodSeconds = &grace
	if d.Instancetype == "" {
		r.resources(&s.Domain)
	} else {
		r.note("CPU and memory come from instancetype %s, not from the source's %d CPUs and %d MiB", d.Instancetype, r.in.VM.CPUs, r.in.VM.MemoryMiB)
	}
	r.firmware(&s.Domain)
	r.clock(&s.Domain)
	r.disks(s)
	r.networks(s)
	s.Domain.Devices.Inputs = []virt.Input{{Name: "tablet", Type: virt.InputTypeTablet, Bus: virt.InputBusUSB}}
	r.left()
	return vm
}

func (r *rendering) annotations() map[string]string {
	vm := r.in.VM
	a := map[string]string{annSourceName: escaped(vm.Name)}
	for k, v := range map[string]string{
		annMigration: r.in.Owner.Name, annMoRef: vm.Ref.MoRef, annInstance: vm.Ref.InstanceUUID, annBIOS: vm.BIOSUUID,
	} {
		if v != "" {
			a[k] = escaped(v)
		}
	}
	return a
}

// left names what stays behind.
func (r *rendering) left() {
	vm := r.in.VM
	for _, d := range vm.Devices {
		r.note("%s %q is not moved", escaped(d.Kind), bounded(d.Label, 128))
	}
	for _, p := range vm.Pinned {
		r.note("%s is not carried over", escaped(p))
	}
	if vm.NestedHV {
		r.note("nested virtualisation is not carried over: the CPU model of the cluster decides")
	}
}
