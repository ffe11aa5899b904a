package vsphere

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"landfall/engine/fault"
)

// endpoint turns what a person writes as the address (host, host:port or an https URL as copied from a browser) into
// the one form that is used from here on.
func endpoint(address string) (*url.URL, error) {
	text := strings.TrimSpace(address)
	if !strings.Contains(text, "://") {
		text = "https://" + bracketed(text)
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, badAddress(address, "it cannot be read as a host name or URL")
	}
	switch {
	case u.User != nil:
		// The address itself is not repeated: it may hold a password.
		return nil, fault.Hint(fault.Newf(fault.Blocked, fault.Refused, "source address holds a user name or password"),
			"give the user as username and the password as env, file or command")
	case u.Scheme != "https":
		return nil, badAddress(address, "only https is spoken, not "+u.Scheme)
	case u.Hostname() == "":
		return nil, badAddress(address, "it names no host")
	}
	switch strings.TrimRight(u.Path, "/") {
	case "", "/sdk", "/ui", "/vsphere-client":
	default:
		return nil, badAddress(address, "its path "+strconv.Quote(u.Path)+" is not the API's")
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, badAddress(address, "its port is not between 1 and 65535")
		}
	}
	host := strings.ToLower(u.Host)
	if u.Port() == "443" {
		host = strings.TrimSuffix(host, ":443")
	}
	host = strings.TrimSuffix(host, ":")
	return &url.URL{Scheme: "https", Host: host, Path: "/sdk"}, nil
}

// bracketed puts a bare IPv6 address in brackets, as a URL needs it.
func bracketed(host string) string {
	bare := strings.TrimRight(host, "/")
	if ip := net.ParseIP(bare); ip != nil && strings.Contains(bare, ":") {
		return "[" + bare + "]"
	}
	return host
}

// dialAddress is host:port of an endpoint.
func dialAddress(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func badAddress(address, why string) error {
	err := fault.Newf(fault.Blocked, fault.Refused, "source address %q: %s", address, why)
	return fault.Hint(err, "write it as host, host:port or https://host")
}
