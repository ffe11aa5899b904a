package cli

import (
	"os"
	"os/user"
	"strings"

	"landfall/engine"
)

// person is who calls, and from where: the terminal and, over SSH, the client's address.
func (a *app) person() engine.Person {
	p := engine.Person{Name: "uid " + strings.TrimSpace(os.Getenv("UID"))}
	if u, err := user.Current(); err == nil {
		p.Name = u.Username
	}
	var from []string
	if tty, err := os.Readlink("/proc/self/fd/0"); err == nil && strings.HasPrefix(tty, "/dev/") {
		from = append(from, tty)
	}
	if c, ok := a.Lookup("SSH_CONNECTION"); ok {
		client, _, _ := strings.Cut(c, " ")
		from = append(from, "ssh "+client)
	}
	p.From = strings.Join(from, " ")
	if p.From == "" {
		p.From = "no terminal"
	}
	return p
}
