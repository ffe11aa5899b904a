package esxsim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Client steers a host that runs in another process. Its methods are those of
// Server.
type Client struct {
	URL   string
	Token string
}

func (c Client) do(ctx context.Context, verb string, o order) (report, error) {
	var r report
	b, err := json.Marshal(o)
	if err != nil {
		return r, fmt.Errorf("steer simulated host: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/esxsim/"+verb, bytes.NewReader(b))
	if err != nil {
		return r, fmt.Errorf("steer simulated host: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return r, fmt.Errorf("steer simulated host: %w", err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return r, fmt.Errorf("steer simulated host: %s: %s", verb, res.Status)
	}
	if r.Error != "" {
		return r, errors.New(r.Error)
	}
	return r, nil
}

func (c Client) say(ctx context.Context, verb string, o order) error {
	_, err := c.do(ctx, verb, o)
	return err
}

// Ping says whether the host answers.
func (c Client) Ping(ctx context.Context) error { return c.say(ctx, "ping", order{}) }

// SetPower takes a VM to a power state at once.
func (c Client) SetPower(ctx context.Context, vm string, p Power) error {
	return c.say(ctx, "power", order{VM: vm, Power: p})
}

// SetShutdown changes how a guest answers from now on.
func (c Client) SetShutdown(ctx context.Context, vm string, b Shutdown) error {
	return c.say(ctx, "shutdown", order{VM: vm, Shutdown: b})
}

// GrowDisk makes a disk larger.
func (c Client) GrowDisk(ctx context.Context, vm string, index int, size int64) error {
	return c.say(ctx, "grow", order{VM: vm, Disk: index, Size: size})
}

// WriteDisk is a guest that writes.
func (c Client) WriteDisk(ctx context.Context, vm string, index int, offset int64, data []byte) error {
	return c.say(ctx, "write", order{VM: vm, Disk: index, Offset: offset, Data: data})
}

// TakeSnapshot takes a snapshot.
func (c Client) TakeSnapshot(ctx context.Context, vm, name string) error {
	return c.say(ctx, "snapshot", order{VM: vm, Name: name})
}

// RemoveSnapshots removes the snapshots of that name, or all.
func (c Client) RemoveSnapshots(ctx context.Context, vm, name string) error {
	return c.say(ctx, "unsnapshot", order{VM: vm, Name: name})
}

// Rename gives a VM another name.
func (c Client) Rename(ctx context.Context, vm, name string) error {
	return c.say(ctx, "rename", order{VM: vm, Name: name})
}

// Unregister takes a VM out of the inventory.
func (c Client) Unregister(ctx context.Context, vm string) error {
	return c.say(ctx, "unregister", order{VM: vm})
}

// EndSessions ends every session.
func (c Client) EndSessions(ctx context.Context) error { return c.say(ctx, "endsessions", order{}) }

// SwapCertificate changes the certificate and returns the new fingerprint.
func (c Client) SwapCertificate(ctx context.Context) (string, error) {
	r, err := c.do(ctx, "swapcertificate", order{})
	return r.Fingerprint, err
}

// SetRate limits all /folder bodies together.
func (c Client) SetRate(ctx context.Context, bytesPerSecond int64) error {
	return c.say(ctx, "rate", order{Rate: bytesPerSecond})
}

// FailSOAP adds a line to the fault script.
func (c Client) FailSOAP(ctx context.Context, f SOAPFault) error {
	return c.say(ctx, "failsoap", order{SOAP: &f})
}

// FailHTTP adds a line to the fault script.
func (c Client) FailHTTP(ctx context.Context, f HTTPFault) error {
	return c.say(ctx, "failhttp", order{HTTP: &f})
}

// ClearFaults empties the fault script.
func (c Client) ClearFaults(ctx context.Context) error { return c.say(ctx, "clearfaults", order{}) }

// ResetCounters begins to count anew.
func (c Client) ResetCounters(ctx context.Context) error { return c.say(ctx, "resetcounters", order{}) }

// Counters is what the host has done so far.
func (c Client) Counters(ctx context.Context) (Counters, error) {
	r, err := c.do(ctx, "counters", order{})
	if err != nil || r.Counters == nil {
		return Counters{}, err
	}
	return *r.Counters, nil
}

// SetWriter lets a guest write.
func (c Client) SetWriter(ctx context.Context, vm string, w Writer) error {
	return c.say(ctx, "writer", order{VM: vm, Writer: &w})
}

// Write lets a guest write so many blocks now.
func (c Client) Write(ctx context.Context, vm string, w Writer, blocks int) error {
	if blocks <= 0 {
		return nil
	}
	return c.say(ctx, "writer", order{VM: vm, Writer: &w, Count: blocks})
}

// SetTracking changes how a disk's change tracking answers.
func (c Client) SetTracking(ctx context.Context, vm string, index int, f TrackingFaults) error {
	return c.say(ctx, "tracking", order{VM: vm, Disk: index, Tracking: f})
}

// LoseTracking makes every change id of a VM unknown.
func (c Client) LoseTracking(ctx context.Context, vm string) error {
	return c.say(ctx, "losetracking", order{VM: vm})
}

// Move takes a VM to another host, and its files too if so wanted.
func (c Client) Move(ctx context.Context, vm, host string, storage bool) error {
	return c.say(ctx, "move", order{VM: vm, Name: host, Works: storage})
}

// SetQuiesce says whether the guest can be brought to rest for a snapshot.
func (c Client) SetQuiesce(ctx context.Context, vm string, works bool) error {
	return c.say(ctx, "quiesce", order{VM: vm, Works: works})
}

// KeepDeltas lets removals of snapshots leave the deltas.
func (c Client) KeepDeltas(ctx context.Context, vm string, removals int) error {
	return c.say(ctx, "keepdeltas", order{VM: vm, Count: removals})
}

// DigestAt is the SHA-256 of a disk as a snapshot froze it.
func (c Client) DigestAt(ctx context.Context, vm string, index int, name string) (string, error) {
	r, err := c.do(ctx, "digestat", order{VM: vm, Disk: index, Name: name})
	return r.Digest, err
}

// Digest is the SHA-256 of a disk.
func (c Client) Digest(ctx context.Context, vm string, index int) (string, error) {
	r, err := c.do(ctx, "digest", order{VM: vm, Disk: index})
	return r.Digest, err
}

// Digests is the SHA-256 of every disk.
func (c Client) Digests(ctx context.Context) (map[string]string, error) {
	r, err := c.do(ctx, "digests", order{})
	return r.Digests, err
}
