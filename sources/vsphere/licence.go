package vsphere

import (
	"context"

	"github.com/vmware/govmomi/vim25/mo"
)

// freeEdition is the edition key of the free hypervisor licence, under which the API only reads.
const freeEdition = "esxBasic"

// licence says why the host refuses changes, or "". A user who may not see the licences learns it from the first
// act's RestrictedVersion instead.
func (s *Source) licence(ctx context.Context) string {
	ref := s.vim.ServiceContent.LicenseManager
	if ref == nil {
		return ""
	}
	var m mo.LicenseManager
	if err := s.one(ctx, *ref, []string{"licenses"}, &m); err != nil {
		return ""
	}
	for _, l := range m.Licenses {
		if l.EditionKey == freeEdition {
			return "the licence " + l.Name + " allows no changes through the API: VMs are shut down in the host's own client; looking and reading disks work"
		}
	}
	return ""
}
