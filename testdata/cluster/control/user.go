package control

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"landfall/testdata/cluster/lab"
)

// user is one who has a token.
type user struct {
	name   string
	groups []string
}

// account is a service account that a program outside the cluster acts as.
func account(namespace, name string) user {
	return user{"system:serviceaccount:" + namespace + ":" + name, []string{"system:serviceaccounts", "system:serviceaccounts:" + namespace, "system:authenticated"}}
}

// users are those whose tokens the API server is started with, by the name of their kubeconfig.
var users = map[string]user{
	"admin":              {"lab-admin", []string{"system:masters"}},
	"controller-manager": {"system:kube-controller-manager", []string{"system:masters"}},
	"scheduler":          {"system:kube-scheduler", []string{"system:masters"}},
	"kwok":               {"kwok", []string{"system:masters"}},
	"virt-api":           account("kubevirt", "kubevirt-apiserver"),
	"virt-controller":    account("kubevirt", "kubevirt-controller"),
	"virt-handler":       account("kubevirt", "kubevirt-handler"),
	"cdi-apiserver":      account("cdi", "cdi-apiserver"),
	"cdi-controller":     account("cdi", "cdi-sa"),
	"cdi-uploadproxy":    account("cdi", "cdi-uploadproxy"),
}

// Kubeconfig is the configuration of one of the users.
func Kubeconfig(l *lab.Lab, name string) string {
	if name == "admin" {
		return l.Kubeconfig()
	}
	return l.Path("kubeconfigs", name)
}

// tokens writes the API server's list of tokens and everyone's kubeconfig, unless they are there.
func tokens(l *lab.Lab, a *Authority) (string, error) {
	path := a.Path("tokens.csv")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	if err := os.MkdirAll(l.Path("kubeconfigs"), 0o700); err != nil {
		return "", err
	}
	var list strings.Builder
	for name, u := range users {
		b := make([]byte, 24)
		_, _ = rand.Read(b)
		token := hex.EncodeToString(b)
		fmt.Fprintf(&list, "%s,%s,%s,%q\n", token, u.name, u.name, strings.Join(u.groups, ","))
		c := api.NewConfig()
		c.Clusters["lab"] = &api.Cluster{Server: Server, CertificateAuthorityData: a.CA()}
		c.AuthInfos[name] = &api.AuthInfo{Token: token}
		c.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: name}
		c.CurrentContext = "lab"
		if err := clientcmd.WriteToFile(*c, Kubeconfig(l, name)); err != nil {
			return "", err
		}
	}
	return path, os.WriteFile(path, []byte(list.String()), 0o600)
}
