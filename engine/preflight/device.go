package preflight

import (
	"fmt"
	"strings"
)

var deviceRules = []Rule{
	{"device.pci", Decide, "The device is passed through from the host and is not moved; the guest may depend on it.", "Detach it, or give the VM a device of the cluster's nodes after the migration; then accept.", left("pci")},
	{"device.usb", Warning, "The device is not moved.", "Detach it, or recreate it in the cluster where it is needed.", left("usb")},
	{"device.serial", Warning, "The port is not moved.", "Detach it, or recreate it in the cluster where it is needed.", left("serial")},
	{"device.parallel", Warning, "The port is not moved.", "Detach it; KubeVirt has none.", left("parallel")},
	{"device.sound", Info, "The sound card is not moved.", "", left("sound")},
	{"device.floppy", Info, "The floppy drive is not moved.", "", left("floppy")},
	{"device.cdrom.iso", Info, "The CD drive and the image in it are not moved.", "", left("cdrom")},
	{"device.other", Warning, "The device is not moved.", "Detach it, or recreate it in the cluster where it is needed.", left("")},
}

// named are the kinds that have a rule of their own.
var named = map[string]bool{"pci": true, "usb": true, "serial": true, "parallel": true, "sound": true, "floppy": true, "cdrom": true}

// left finds the devices of a kind that stay behind; "" is for every kind without a rule.
func left(kind string) func(Facts) []hit {
	return func(f Facts) (hits []hit) {
		for i, d := range f.VM.Devices {
			if d.Kind == kind || kind == "" && !named[d.Kind] {
				h := hit{subject: fmt.Sprintf("device %d (%s)", i, d.Kind), found: strings.TrimSpace(d.Label + " " + d.Detail)}
				if kind == "cdrom" && d.Detail != "" {
					h.remedy = &Remedy{ID: RemoveMedia, Label: "Take out what is in the CD drive", Outside: true,
						Effect: "the source disconnects " + d.Detail + " from the VM's CD drive; one that the guest has locked is left"}
				}
				hits = append(hits, h)
			}
		}
		return hits
	}
}
