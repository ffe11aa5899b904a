package kubesim

import (
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	api "k8s.io/client-go/tools/clientcmd/api"
)

// Kubeconfig writes a kubeconfig for the first user to path, with mode 0600.
func (s *Server) Kubeconfig(path string) error {
	return s.KubeconfigFor(s.users[0].Name, path)
}

// KubeconfigFor writes a kubeconfig for any configured user.
func (s *Server) KubeconfigFor(user, path string) error {
	u, ok := s.user(user)
	if !ok {
		return fmt.Errorf("write kubeconfig: the cluster has no user %q", user)
	}
	c := api.NewConfig()
	c.Clusters[s.cfg.Context] = &api.Cluster{Server: s.URL(), CertificateAuthorityData: s.ca.pem}
	c.AuthInfos[u.Name] = &api.AuthInfo{Token: u.Token}
	c.Contexts[s.cfg.Context] = &api.Context{Cluster: s.cfg.Context, AuthInfo: u.Name}
	c.CurrentContext = s.cfg.Context
	raw, err := clientcmd.Write(*c)
	if err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	if err := writeFile(path, raw); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	return nil
}

// RESTConfig is what a client in the same process needs; "" is the first user.
func (s *Server) RESTConfig(user string) *rest.Config {
	u := s.users[0]
	if user != "" {
		u, _ = s.user(user)
	}
	return &rest.Config{Host: s.URL(), BearerToken: u.Token, TLSClientConfig: rest.TLSClientConfig{CAData: s.ca.pem}, QPS: -1}
}
