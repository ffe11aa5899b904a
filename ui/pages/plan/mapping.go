package plan

import (
	"cmp"
	"slices"
	"strings"

	"landfall/engine/machine"
	"landfall/engine/spec"
	"landfall/ui/pages/draft"
)

// storage asks where the disks of a datastore go.
func storage(ds string) field {
	return field{
		label: "ds " + ds, help: "Storage class for the disks of datastore " + ds + ", then Block or Filesystem and an access mode, where they matter. Empty: no mapping of its own.",
		check: func(v string) string {
			words := strings.Fields(v)
			if len(words) > 1 && words[1] != "Block" && words[1] != "Filesystem" {
				return words[1] + " is neither Block nor Filesystem"
			}
			if slices.ContainsFunc(words[min(2, len(words)):], func(w string) bool { return !strings.HasPrefix(w, "ReadWrite") }) {
				return "access modes are ReadWriteOnce and ReadWriteMany"
			}
			return ""
		},
		get: func(s spec.Spec) string {
			m, ok := s.StorageFor(ds)
			if !ok {
				return ""
			}
			return strings.Join(strings.Fields(m.StorageClass+" "+m.VolumeMode+" "+strings.Join(m.AccessModes, " ")), " ")
		},
		set: func(s *spec.Spec, v string) {
			rows := slices.DeleteFunc(s.Storage.Mappings, func(m spec.StorageMapping) bool { return m.Datastore == ds })
			if words := strings.Fields(v); len(words) > 0 {
				m := spec.StorageMapping{Datastore: ds, StorageClass: words[0], AccessModes: slices.Clone(words[min(2, len(words)):])}
				if len(words) > 1 {
					m.VolumeMode = words[1]
				}
				rows = append(rows, m)
			}
			s.Storage.Mappings = rows
		},
		concerns: func(it *draft.Item) bool {
			return slices.ContainsFunc(it.VM.VM.DiskList, func(d machine.Disk) bool { return d.Datastore == ds })
		},
	}
}

// network asks where the cards of a network go.
func network(n machine.NIC) field {
	name := cmp.Or(n.Network, n.NetworkID)
	same := func(m spec.NetworkMapping) bool {
		return m.PortGroup == n.Network || (n.NetworkID != "" && m.PortGroup == n.NetworkID)
	}
	return field{
		label: "net " + name, help: "Where the cards of " + name + " go: Pod, or Multus and a network attachment definition; then masquerade or bridge, where it matters. Empty: no mapping of its own.",
		check: func(v string) string {
			if _, ok := parseNetwork(v); !ok && v != "" {
				return "say Pod, or Multus NAME, and masquerade or bridge after it"
			}
			return ""
		},
		get: func(s spec.Spec) string {
			m, ok := s.NetworkFor(n)
			if !ok {
				return ""
			}
			return strings.Join(strings.Fields(m.Type+" "+m.Name+" "+m.Binding), " ")
		},
		set: func(s *spec.Spec, v string) {
			s.Network.Mappings = slices.DeleteFunc(s.Network.Mappings, same)
			if m, ok := parseNetwork(v); ok {
				m.PortGroup = name
				s.Network.Mappings = append(s.Network.Mappings, m)
			}
		},
		concerns: func(it *draft.Item) bool {
			return slices.ContainsFunc(it.VM.VM.NICs, func(o machine.NIC) bool { return o.Network == n.Network && o.NetworkID == n.NetworkID })
		},
	}
}

func parseNetwork(v string) (m spec.NetworkMapping, ok bool) {
	words := strings.Fields(v)
	if n := len(words); n > 1 && (words[n-1] == "masquerade" || words[n-1] == "bridge") {
		m.Binding, words = words[n-1], words[:n-1]
	}
	switch {
	case len(words) == 1 && strings.EqualFold(words[0], "pod"):
		m.Type = "Pod"
	case len(words) == 2 && strings.EqualFold(words[0], "multus"):
		m.Type, m.Name = "Multus", words[1]
	default:
		return m, false
	}
	return m, true
}
