package esxsim

import "fmt"

// Many makes n VMs after the given one, named NAME-0001 and so on, whose disks
// have descriptors but no contents. It is for lists, not for copies.
func Many(n int, like VM) []VM {
	list := make([]VM, n)
	for i := range list {
		v := like
		v.Name = fmt.Sprintf("%s-%04d", like.Name, i+1)
		v.UUID, v.InstanceUUID, v.Directory = "", "", ""
		v.Disks = append([]Disk(nil), like.Disks...)
		for k := range v.Disks {
			v.Disks[k].Bare = true
		}
		list[i] = v
	}
	return list
}
