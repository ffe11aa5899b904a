package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"time"
)

// speak sends JSON commands to one of qemu's sockets, one after the other over one connection, and gives the last answer.
// Both qemu's monitor and the agent in the guest speak like this.
func speak(socket string, patience time.Duration, commands ...any) (json.RawMessage, error) {
	c, err := net.DialTimeout("unix", socket, patience)
	if err != nil {
		return nil, fmt.Errorf("reach qemu: %w", err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	in, out := json.NewDecoder(c), json.NewEncoder(c)
	var last json.RawMessage
	for _, command := range commands {
		if err := out.Encode(command); err != nil {
			return nil, fmt.Errorf("tell qemu: %w", err)
		}
		for answered := false; !answered; {
			var a struct {
				Return json.RawMessage `json:"return"`
				Error  *struct {
					Desc string `json:"desc"`
				} `json:"error"`
			}
			if err := in.Decode(&a); err != nil { // greetings and events are passed over
				return nil, fmt.Errorf("hear from qemu: %w", err)
			}
			if a.Error != nil {
				return nil, errors.New("qemu refuses: " + a.Error.Desc)
			}
			last, answered = a.Return, a.Return != nil
		}
	}
	return last, nil
}

type command struct {
	Execute   string `json:"execute"`
	Arguments any    `json:"arguments,omitempty"`
}

// monitor runs commands of qemu's own monitor.
func (g *guest) monitor(commands ...any) (json.RawMessage, error) {
	return speak(g.path("qmp"), 5*time.Second, append([]any{command{Execute: "qmp_capabilities"}}, commands...)...)
}

// console runs a command that qemu has for people alone. It says nothing when it worked.
func (g *guest) console(line string) error {
	b, err := g.monitor(command{"human-monitor-command", map[string]string{"command-line": line}})
	if err != nil {
		return err
	}
	var said string
	if err := json.Unmarshal(b, &said); err != nil {
		return fmt.Errorf("hear from qemu: %w", err)
	}
	if said != "" {
		return fmt.Errorf("qemu on %q: %s", line, said)
	}
	return nil
}
