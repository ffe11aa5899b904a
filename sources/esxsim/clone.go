package esxsim

import (
	"bytes"
	"fmt"

	"github.com/vmware/govmomi/vim25/types"
	"github.com/vmware/govmomi/vim25/xml"
)

// cloneDevice copies a device, so that a reader of the old one is not disturbed.
func cloneDevice(d types.BaseVirtualDevice) types.BaseVirtualDevice {
	src := types.ArrayOfVirtualDevice{VirtualDevice: []types.BaseVirtualDevice{d}}
	var dst types.ArrayOfVirtualDevice
	deepCopy(src, &dst)
	return dst.VirtualDevice[0]
}

func deepCopy(src, dst any) {
	b, err := xml.Marshal(src)
	if err != nil {
		panic(fmt.Sprintf("copy %T: %v", src, err))
	}
	dec := xml.NewDecoder(bytes.NewReader(b))
	dec.TypeFunc = types.TypeFunc()
	if err := dec.Decode(dst); err != nil {
		panic(fmt.Sprintf("copy %T: %v", src, err))
	}
}
