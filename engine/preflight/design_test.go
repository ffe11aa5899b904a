package preflight_test

import (
	"strings"
	"testing"

	"landfall/engine/preflight"
)

// design is every rule that was asked for, with its level, written down by hand: a rule that is lost, or weighs less than it
// was meant to, is seen here.
const design = `
Blocker  vm.name.missing vm.template vm.connection vm.question vm.power.policy vm.ft vm.encrypted vm.migrating.elsewhere vm.agent.vcls
Decision vm.suspended vm.tools.missing vm.tpm vm.snapshot vm.consolidation
Warning  vm.guest.unsupported vm.hostname.empty vm.hostname.default vm.ip.missing vm.cpu.affinity vm.numa.affinity vm.host.affinity vm.cpu.topology vm.autostart vm.duplicate.uuid
Info     vm.hotplug vm.firmware.secureboot vm.nested
Blocker  disk.none disk.capacity.invalid disk.datastore.missing disk.backing.unknown disk.rdm.physical disk.shared disk.controller.unknown disk.cbt.hardware
Decision disk.rdm.virtual disk.independent disk.boot disk.cbt.off disk.guest.freespace
Warning  disk.count disk.cbt.128g
Info     disk.serial disk.size.align
Blocker  nic.unmapped nic.pod.multiple nic.nad.missing nic.mac.conflict
Decision nic.nonetwork nic.sriov nic.passthrough
Warning  nic.rename net.overlap ip.static.lost
Info     nic.none nic.disconnected
Decision device.pci
Warning  device.usb device.serial device.parallel device.other
Info     device.sound device.floppy device.cdrom.iso
Blocker  source.privileges source.ports source.reader source.certificate
Warning  source.license source.maintenance source.host.status source.space.snapshot
Blocker  target.reach target.access target.kubevirt target.cdi target.namespace target.name.taken target.name.collision
Decision target.kvm
Warning  target.psa
Info     target.name.changed target.preference
Blocker  storage.unmapped storage.class.missing storage.capacity tool.qemuimg tool.virtv2v host.space
Info     storage.wffc storage.overhead
`

func TestRulesAreThoseOfTheDesign(t *testing.T) {
	want := map[string]preflight.Level{}
	for line := range strings.Lines(design) {
		words := strings.Fields(line)
		for i := 1; i < len(words); i++ {
			want[words[i]] = preflight.Level(words[0])
		}
	}
	for _, r := range preflight.Rules() {
		if r.Level != want[r.ID] {
			t.Errorf("%s is a %s, want %q", r.ID, r.Level, want[r.ID])
		}
		delete(want, r.ID)
	}
	for id := range want {
		t.Errorf("there is no rule %s", id)
	}
}
