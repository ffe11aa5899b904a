package pages

import (
	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/feed"
	"landfall/ui/keymap"
)

// LineKeys are the keys that make sense for a migration as it stands.
func LineKeys(l engine.Line) []keymap.Binding {
	var keys []keymap.Binding
	if l.Questions > 0 {
		keys = append(keys, keymap.Answer)
	}
	if l.Phase.Rest() {
		keys = append(keys, keymap.Retry)
	}
	if !l.Phase.Terminal() && l.Phase != engine.Cancelling && l.Want != engine.WantCancel {
		keys = append(keys, keymap.Cancel)
	}
	return keys
}

// OnLine gives what a key wants of a migration, wherever it is shown.
func OnLine(k tea.KeyPressMsg, s *feed.Snapshot, l engine.Line) Action {
	switch {
	case keymap.Open.Hit(k):
		return Open{UID: l.UID}
	case keymap.Answer.Hit(k):
		if q := s.Questions(l.UID); len(q) > 0 {
			return AskDecision{Decision: q[0]}
		}
		return Say{Text: "nothing is asked about this migration"}
	case keymap.Cancel.Hit(k):
		switch {
		case l.Phase.Terminal():
			return Say{Text: "this migration has ended"}
		case l.Want == engine.WantCancel || l.Phase == engine.Cancelling:
			return Say{Text: "this migration is being cancelled already"}
		}
		return AskCancel{UID: l.UID}
	case keymap.Retry.Hit(k):
		if !l.Phase.Rest() {
			return Say{Text: "only a migration at rest can be tried again"}
		}
		return RetryNow{UID: l.UID, Name: plaintext.Label(l.VM)}
	}
	return nil
}
