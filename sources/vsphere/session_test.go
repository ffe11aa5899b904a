package vsphere

import (
	"errors"
	"testing"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// TestEnded holds the shapes in which an endpoint says that the session is gone.
func TestEnded(t *testing.T) {
	answer := func(f types.BaseMethodFault) *methods.RetrievePropertiesExBody {
		return &methods.RetrievePropertiesExBody{Res: &types.RetrievePropertiesExResponse{Returnval: &types.RetrieveResult{Objects: []types.ObjectContent{
			{MissingSet: []types.MissingProperty{{Path: "name", Fault: types.LocalizedMethodFault{Fault: f}}}},
		}}}}
	}
	soapFault := &soap.Fault{Code: "ServerFaultCode"}
	soapFault.Detail.Fault = types.NotAuthenticated{}
	for _, c := range []struct {
		name string
		err  error
		res  soap.HasFault
		want bool
	}{
		{"SOAP fault", soap.WrapSoapFault(soapFault), nil, true},
		{"fault of a property or task", soap.WrapVimFault(&types.NotAuthenticated{}), nil, true},
		{"told per property", nil, answer(&types.NotAuthenticated{}), true},
		{"property that is not there", nil, answer(&types.InvalidProperty{}), false},
		{"no permission", soap.WrapVimFault(&types.NoPermission{}), nil, false},
		{"empty answer", nil, &methods.RetrievePropertiesExBody{}, false},
		{"something else", errors.New("NotAuthenticated"), nil, false},
		{"success", nil, &methods.LoginBody{}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := ended(c.err, c.res); got != c.want {
				t.Errorf("got %v", got)
			}
		})
	}
}
