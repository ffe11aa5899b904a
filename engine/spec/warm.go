package spec

import "time"

// Warm says how a running source is followed and when it is cut over.
type Warm struct {
	// ThresholdBytes is the gap below which a disk has converged.
	ThresholdBytes int64 `yaml:"thresholdBytes,omitempty" json:"thresholdBytes,omitempty"`
	// DowntimeBudgetSeconds lets a disk converge as well when the projected downtime is within it; 0: not looked at.
	DowntimeBudgetSeconds int `yaml:"downtimeBudgetSeconds,omitempty" json:"downtimeBudgetSeconds,omitempty"`
	// MaxRounds is after how many rounds without convergence a person is asked.
	MaxRounds int `yaml:"maxRounds,omitempty" json:"maxRounds,omitempty"`
	// RoundSeconds is the time between rounds of a disk that has converged.
	RoundSeconds int `yaml:"roundSeconds,omitempty" json:"roundSeconds,omitempty"`
	// Window lets the engine cut over by itself, within it and within the downtime budget.
	Window *Window `yaml:"window,omitempty" json:"window,omitempty"`
	// Hold keeps the cutover back, whatever else allows it.
	Hold bool `yaml:"hold,omitempty" json:"hold,omitempty"`
	// CutOver is a person's word to stop the source as soon as the target is ready. It is given to a migration that runs
	// (landfall cutover), not with the document that begins one; a hold takes it back.
	CutOver bool `yaml:"cutOver,omitempty" json:"cutOver,omitempty"`
	// Quiesce has the guest's tools bring its file systems to rest for each snapshot; nil is true.
	Quiesce *bool `yaml:"quiesce,omitempty" json:"quiesce,omitempty"`
	// ChangeTracking is the consent to switch change tracking on: Enable, or EnableAndRestore to have it switched off
	// again at the end. Empty: a person is asked when it is off.
	ChangeTracking ChangeTracking `yaml:"changeTracking,omitempty" json:"changeTracking,omitempty"`
	// Assume gives figures that cannot be measured before the cutover; what is neither measured nor given is unknown.
	Assume Assume `yaml:"assume,omitempty" json:"assume"`
}

// ChangeTracking is what may be done about change tracking that is off.
type ChangeTracking string

const (
	EnableTracking           ChangeTracking = "Enable"
	EnableAndRestoreTracking ChangeTracking = "EnableAndRestore"
)

// Window is a span of time.
type Window struct {
	From  time.Time `yaml:"from" json:"from"`
	Until time.Time `yaml:"until" json:"until"`
}

// Assume holds an operator's own figures for the forecast of the downtime; 0 is unknown.
type Assume struct {
	ConversionBytesPerSecond int64 `yaml:"conversionBytesPerSecond,omitempty" json:"conversionBytesPerSecond,omitempty"`
	DeliveryBytesPerSecond   int64 `yaml:"deliveryBytesPerSecond,omitempty" json:"deliveryBytesPerSecond,omitempty"`
	BootSeconds              int   `yaml:"bootSeconds,omitempty" json:"bootSeconds,omitempty"`
}

const (
	DefaultThreshold    = 64 << 20
	DefaultMaxRounds    = 10
	DefaultRoundSeconds = 60
)

// Default gives it with every option resolved.
func (w Warm) Default() Warm {
	if w.ThresholdBytes == 0 {
		w.ThresholdBytes = DefaultThreshold
	}
	if w.MaxRounds == 0 {
		w.MaxRounds = DefaultMaxRounds
	}
	if w.RoundSeconds == 0 {
		w.RoundSeconds = DefaultRoundSeconds
	}
	if w.Quiesce == nil {
		yes := true
		w.Quiesce = &yes
	}
	return w
}

func (c *checker) warm(s Strategy) {
	const at = "spec.strategy.warm."
	w := s.Warm
	if s.Type != "Warm" {
		if w != (Warm{}) {
			c.say("spec.strategy.warm", "is for type Warm, not for %s", orDefault(s.Type, "Cold"))
		}
		return
	}
	for field, v := range map[string]int64{"thresholdBytes": w.ThresholdBytes, "assume.conversionBytesPerSecond": w.Assume.ConversionBytesPerSecond,
		"assume.deliveryBytesPerSecond": w.Assume.DeliveryBytesPerSecond} {
		if v < 0 {
			c.say(at+field, "must not be negative")
		}
	}
	c.bounds(at+"downtimeBudgetSeconds", w.DowntimeBudgetSeconds, 0, 7*86400)
	c.bounds(at+"assume.bootSeconds", w.Assume.BootSeconds, 0, 86400)
	c.bounds(at+"maxRounds", w.MaxRounds, 0, 10000)
	c.bounds(at+"roundSeconds", w.RoundSeconds, 0, 86400)
	c.oneOf(at+"changeTracking", string(w.ChangeTracking), "", string(EnableTracking), string(EnableAndRestoreTracking))
	if w.Window != nil {
		if !w.Window.From.Before(w.Window.Until) {
			c.say(at+"window", "from must lie before until")
		}
		if w.DowntimeBudgetSeconds == 0 {
			c.say(at+"downtimeBudgetSeconds", "is required with a window: by itself the engine cuts over only within it")
		}
	}
}
