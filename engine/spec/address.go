package spec

import (
	"net"
	"net/url"
	"strings"
)

// Spelt gives the one spelling of an endpoint's address, so that two ways to write it are seen to be one endpoint.
func Spelt(address string) string {
	a := strings.TrimSpace(address)
	if !strings.Contains(a, "://") {
		a = "https://" + a
	}
	u, err := url.Parse(a)
	if err != nil || u.Host == "" {
		return strings.ToLower(strings.TrimSpace(address))
	}
	host, port := strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")), u.Port()
	if port == "" || port == "443" {
		return host
	}
	return net.JoinHostPort(host, port)
}
