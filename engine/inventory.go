package engine

import (
	"context"
	"sync"
	"time"

	"landfall/engine/machine"
)

// inspectAtMost is for how many VMs the hardware is fetched with the list; of larger inventories it is fetched when a
// migration needs it.
const inspectAtMost = 200

// listInventories keeps the inventory cache of every endpoint fresh, each on its own: one that hangs holds up no other.
func (e *Engine) listInventories(ctx context.Context) {
	var wg sync.WaitGroup
	defer wg.Wait()
	busy, tried := map[string]chan struct{}{}, map[string]time.Time{}
	tick := time.NewTicker(superviseEvery)
	defer tick.Stop()
	var seen int64 = -1
	var looked time.Time
	for {
		n, err := e.Store.Changed(ctx)
		if now := e.Now(); err == nil && (n != seen || now.Sub(looked) >= e.InventoryEvery) {
			seen, looked = n, now
			endpoints, _ := e.Store.Endpoints(ctx)
			for _, ep := range endpoints {
				if done := busy[ep.Name]; done != nil {
					select {
					case <-done:
					default:
						continue
					}
				}
				last := ep.Taken // a list that failed leaves it, so that our own tries count as well
				if t := tried[ep.Name]; t.After(last) {
					last = t
				}
				asked := ep.Asked.After(last)
				if !asked && now.Sub(last) < e.InventoryEvery {
					continue
				}
				tried[ep.Name] = now
				done := make(chan struct{})
				busy[ep.Name] = done
				wg.Add(1)
				go func() {
					defer wg.Done()
					defer close(done)
					e.takeInventory(ctx, ep, asked)
				}()
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (e *Engine) takeInventory(ctx context.Context, ep Endpoint, asked bool) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	if asked {
		e.sources.retry(ep.Source.Default())
	}
	vms, about, err := e.inventory(ctx, ep)
	failure := ""
	if err != nil {
		failure = err.Error()
		e.Log.Warn("inventory", "endpoint", ep.Name, "error", err)
	}
	if err := e.Store.PutInventory(ctx, ep.Name, vms, about, failure); err != nil && ctx.Err() == nil {
		e.Log.Warn("write inventory", "endpoint", ep.Name, "error", err)
	}
}

func (e *Engine) inventory(ctx context.Context, ep Endpoint) ([]machine.VM, string, error) {
	src, err := e.sources.get(ctx, ep.Source.Default())
	if err != nil {
		return nil, "", err
	}
	list, err := src.List(ctx)
	if err != nil {
		return nil, src.About().Product, err
	}
	vms := make([]machine.VM, len(list))
	for i, s := range list {
		vms[i] = machine.VM{Summary: s}
		if len(list) > inspectAtMost {
			continue
		}
		if vm, err := src.Inspect(ctx, s.Ref); err == nil {
			vms[i] = vm
		}
	}
	return vms, src.About().Product, nil
}
