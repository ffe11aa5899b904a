package vsphere

import (
	"context"
	"time"

	vimfault "github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"landfall/engine/fault"
)

// errForgotten: the endpoint no longer knows the task, as vCenter does after a while. Whether it succeeded is then seen
// by what it should have changed.
var errForgotten = fault.Newf(fault.Transient, fault.Conflict, "the endpoint no longer knows the task")

// wait ends when the task has. It asks again and again instead of holding one long call, so that a session that ends
// meanwhile, or a connection that is lost, does not lose the task.
func (s *Source) wait(ctx context.Context, task types.ManagedObjectReference) error {
	_, err := s.result(ctx, task)
	return err
}

// result is wait for a task that gives something.
func (s *Source) result(ctx context.Context, task types.ManagedObjectReference) (types.AnyType, error) {
	for pause := 20 * time.Millisecond; ; pause = min(pause*2, time.Second) {
		content, err := s.retrieve(ctx, []types.ManagedObjectReference{task}, []string{"info.state", "info.error", "info.result"})
		if vimfault.Is(err, &types.ManagedObjectNotFound{}) || err == nil && len(content) == 0 {
			return nil, errForgotten
		}
		if err != nil {
			return nil, err
		}
		b := bagOf(content[0])
		switch get[types.TaskInfoState](b, "info.state") {
		case types.TaskInfoStateSuccess:
			return b["info.result"], nil
		case types.TaskInfoStateError:
			return nil, missingError{get[types.LocalizedMethodFault](b, "info.error")}
		}
		t := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			t.Stop()
			return nil, ctx.Err()
		case <-t.C:
		}
	}
}
