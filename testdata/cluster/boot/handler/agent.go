package main

import (
	"encoding/json"
	"math/rand/v2"
	"time"
)

// agentState is what the guest's own agent says.
type agentState struct {
	connected  bool
	prettyName string
	hostName   string
}

// agent is what was last heard from the guest's agent.
func (g *guest) agent() agentState {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.hears
}

// listen asks the guest's agent how it is, for as long as the guest runs.
func (g *guest) listen() {
	for {
		heard := g.ask()
		g.mu.Lock()
		g.hears = heard
		g.mu.Unlock()
		select {
		case <-g.ended:
			return
		case <-time.After(3 * time.Second):
		}
	}
}

func (g *guest) ask() (s agentState) {
	// The agent answers with the number it was given, which tells its answer from one that was left over.
	id := rand.Int64N(1 << 40)
	b, err := speak(g.path("agent"), 2*time.Second, command{"guest-sync", map[string]int64{"id": id}})
	var back int64
	if err != nil || json.Unmarshal(b, &back) != nil || back != id {
		return s
	}
	s.connected = true
	if b, err = speak(g.path("agent"), 2*time.Second, command{Execute: "guest-get-osinfo"}); err == nil {
		var os struct {
			PrettyName string `json:"pretty-name"`
		}
		if json.Unmarshal(b, &os) == nil {
			s.prettyName = os.PrettyName
		}
	}
	if b, err = speak(g.path("agent"), 2*time.Second, command{Execute: "guest-get-host-name"}); err == nil {
		var host struct {
			HostName string `json:"host-name"`
		}
		if json.Unmarshal(b, &host) == nil {
			s.hostName = host.HostName
		}
	}
	return s
}
