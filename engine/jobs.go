package engine

import (
	"context"
	"runtime/debug"
	"strings"
	"sync"

	"landfall/engine/fault"
)

// jobs are the long works of this process: copies, conversions, uploads. They are lost with it; what they left behind is
// observed and gone on with.
type jobs struct {
	mu   sync.Mutex
	all  map[string]*job
	root context.Context
	quit context.CancelFunc
}

type job struct {
	state    any // shared with whoever watches
	cancel   context.CancelFunc
	finished chan struct{}
	result   any
	err      error
}

func newJobs() *jobs {
	ctx, cancel := context.WithCancel(context.Background())
	return &jobs{all: map[string]*job{}, root: ctx, quit: cancel}
}

// start runs f unless the job is there already. state is what watchers see; done is called when it has finished.
func (j *jobs) start(key string, state any, f func(ctx context.Context) (any, error), done func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.all[key] != nil || j.root.Err() != nil {
		return
	}
	ctx, cancel := context.WithCancel(j.root)
	w := &job{state: state, cancel: cancel, finished: make(chan struct{})}
	j.all[key] = w
	go func() {
		defer done()
		defer close(w.finished)
		defer cancel()
		defer func() {
			if p := recover(); p != nil {
				w.err = fault.Newf(fault.Blocked, "Panic", "internal error: %v\n%s", p, debug.Stack())
			}
		}()
		w.result, w.err = f(ctx)
		if w.err != nil && ctx.Err() != nil {
			w.err = fault.New(fault.Transient, fault.Interrupted, w.err)
		}
	}()
}

// with calls f with the state of a job that works.
func (j *jobs) with(key string, f func(state any)) {
	if j.running(key) {
		j.mu.Lock()
		w := j.all[key]
		j.mu.Unlock()
		if w != nil {
			f(w.state)
		}
	}
}

// running tells whether the job works.
func (j *jobs) running(key string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.all[key]
	if w == nil {
		return false
	}
	select {
	case <-w.finished:
		return false
	default:
		return true
	}
}

// take gives what a finished job brought and forgets it; ok is false when there is none or it still works.
func (j *jobs) take(key string) (result any, ok bool, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	w := j.all[key]
	if w == nil {
		return nil, false, nil
	}
	select {
	case <-w.finished:
		delete(j.all, key)
		return w.result, true, w.err
	default:
		return nil, false, nil
	}
}

// stop ends every job of a migration and waits for them.
func (j *jobs) stop(uid string) { j.end(uid + "/") }

func (j *jobs) stopAll() {
	j.quit()
	j.end("")
}

func (j *jobs) end(prefix string) {
	j.mu.Lock()
	var ws []*job
	for k, w := range j.all {
		if strings.HasPrefix(k, prefix) {
			ws = append(ws, w)
			delete(j.all, k)
		}
	}
	j.mu.Unlock()
	for _, w := range ws {
		w.cancel()
	}
	for _, w := range ws {
		<-w.finished
	}
}
