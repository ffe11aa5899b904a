package nbd

import (
	"net"
	"net/url"
	"strings"

	"landfall/engine/fault"
)

// Address is where a server listens, and which of its exports is meant.
type Address struct {
	Network string // unix or tcp
	Where   string
	Export  string
}

// Parse reads an NBD URI: nbd://host:port/export or nbd+unix:///export?socket=/path.
func Parse(uri string) (Address, error) {
	bad := func(why string) (Address, error) {
		return Address{}, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "NBD address: %s", why),
			"write nbd+unix:///EXPORT?socket=/PATH or nbd://HOST:PORT/EXPORT")
	}
	u, err := url.Parse(uri)
	if err != nil {
		return bad("it cannot be read") // the error would repeat it, with what may be secret in it
	}
	export := strings.TrimPrefix(u.Path, "/")
	switch u.Scheme {
	case "nbd+unix":
		socket := u.Query().Get("socket")
		if u.Host != "" || !strings.HasPrefix(socket, "/") {
			return bad("it names no socket")
		}
		return Address{"unix", socket, export}, nil
	case "nbd":
		if u.Hostname() == "" || u.User != nil {
			return bad("it names no host")
		}
		port := u.Port()
		if port == "" {
			port = "10809"
		}
		return Address{"tcp", net.JoinHostPort(u.Hostname(), port), export}, nil
	case "nbds", "nbds+unix":
		return bad("TLS is not spoken here: let a tunnel or a command do it, on a Unix socket")
	}
	return bad("its scheme is " + u.Scheme)
}
