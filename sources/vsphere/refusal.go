package vsphere

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"sync"
	"time"

	"landfall/engine/fault"
	"landfall/engine/secret"
)

// refusalHolds is how long a refused password is not tried again. ESXi unlocks an account after 900 s and locks it after
// five failures: one try per that time can never lock it.
const refusalHolds = 15 * time.Minute

// refusals is shared by all sources of the process, because an account is locked by all of them together.
var refusals = &credentials{by: map[string]*credential{}, key: freshKey()}

// credentials remembers which password an account refused. It keeps a keyed digest and never the password.
type credentials struct {
	mu  sync.Mutex
	by  map[string]*credential
	key []byte
}

type credential struct {
	turn    chan struct{} // one login at a time, so that eight migrations with one wrong password make one failure
	refused []byte
	until   time.Time
	err     error
}

func freshKey() []byte {
	key := make([]byte, 32)
	_, _ = rand.Read(key) // never fails
	return key
}

func (c *credentials) of(host, user string) *credential {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := host + "\x00" + user
	if c.by[id] == nil {
		c.by[id] = &credential{turn: make(chan struct{}, 1)}
	}
	return c.by[id]
}

// try logs in unless this password was refused lately; again means that a person asks for it nevertheless.
func (c *credentials) try(ctx context.Context, host, user string, p secret.Secret, again bool, now func() time.Time, login func() error) error {
	account := c.of(host, user)
	select {
	case account.turn <- struct{}{}:
		defer func() { <-account.turn }()
	case <-ctx.Done():
		return failed(ctx.Err(), host, "log in to %s", host)
	}
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(p.Reveal()))
	digest := mac.Sum(nil)
	if !again && subtle.ConstantTimeCompare(account.refused, digest) == 1 && now().Before(account.until) {
		return fault.Hint(account.err, "the password was refused and is not tried again before %s, so that the account is not locked: correct it", account.until.Format("15:04"))
	}
	err := login()
	switch {
	case err == nil:
		account.refused = nil
	case fault.Is(err, fault.WrongCredentials):
		account.refused, account.until, account.err = digest, now().Add(refusalHolds), err
	}
	return err
}
