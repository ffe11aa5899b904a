package kubevirt

import (
	virt "kubevirt.io/api/core/v1"

	"landfall/targets"
)

// preference refers to the one that the spec asks for or that is chosen for the guest.
func (r *rendering) preference(vm *virt.VirtualMachine) {
	c := targets.PreferenceFor(r.in.VM, r.in.Spec, r.in.Preferences, r.in.Instancetypes)
	for _, why := range c.Against {
		if c.Asked {
			why = "preference " + bounded(c.Name, 63) + " is taken as asked, but " + why
		}
		r.note("%s", why)
	}
	if c.Name == "" {
		return
	}
	if !c.Asked {
		r.note("preference %s is chosen for the guest %s", c.Name, bounded(r.in.VM.GuestID, 63))
	}
	r.chosen = c.Name
	vm.Spec.Preference = &virt.PreferenceMatcher{Name: c.Name}
	if r.in.Preferences[c.Name].Namespaced {
		vm.Spec.Preference.Kind = "VirtualMachinePreference"
	}
}
