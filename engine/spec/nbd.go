package spec

import (
	"slices"
	"strings"
)

// NBD says how the disks of a running VM can be read by ranges: from a server that is there, or by a command that is
// started for each disk, such as nbdkit with the vddk plugin. Empty means that they cannot. In both, {vm}, {snapshot},
// {key}, {path}, {host} and {user} stand for what is read and from where; in a command also {socket}, where it must listen,
// and {password}, a file that holds the password.
type NBD struct {
	URI     string   `yaml:"uri,omitempty" json:"uri,omitempty"`
	Command []string `yaml:"command,omitempty" json:"command,omitempty"`
}

// IsZero tells whether there is none.
func (n NBD) IsZero() bool { return n.URI == "" && len(n.Command) == 0 }

func (c *checker) nbd(field string, n NBD) {
	switch {
	case n.URI != "" && len(n.Command) > 0:
		c.say(field, "give a uri or a command, not both")
	case len(n.Command) > 0 && (n.Command[0] == "" || !slices.ContainsFunc(n.Command, func(w string) bool { return strings.Contains(w, "{socket}") })):
		c.say(field+".command", "name a program, and {socket} where it is to listen")
	}
}
