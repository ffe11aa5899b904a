package data

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"landfall/testdata/cluster/control"
	"landfall/testdata/cluster/lab"
)

// NodeName is the node's.
const NodeName = "lab-node"

// labels are those that virt-handler would put on a node that can run virtual machines.
const nodeLabels = "kubevirt.io/schedulable=true,machine-type.node.kubevirt.io/q35=true,machine-type.node.kubevirt.io/pc-q35-7.2=true,cpu-model.node.kubevirt.io/qemu64=true"

// devices are those that virt-handler's device plugins would offer.
var devices = []string{"devices.kubevirt.io/kvm", "devices.kubevirt.io/tun", "devices.kubevirt.io/vhost-net"}

// client is a kubeconfig of one who has a certificate.
func client(l *lab.Lab, name, user, group string) (string, error) {
	a, err := control.OpenAuthority(l.Path("pki"))
	if err != nil {
		return "", err
	}
	var groups []string
	if group != "" {
		groups = []string{group}
	}
	crt, key, err := a.Issue(name+"-client", user, groups)
	if err != nil {
		return "", err
	}
	c := api.NewConfig()
	c.Clusters["lab"] = &api.Cluster{Server: control.Server, CertificateAuthorityData: a.CA()}
	c.AuthInfos[name] = &api.AuthInfo{ClientCertificate: crt, ClientKey: key}
	c.Contexts["lab"] = &api.Context{Cluster: "lab", AuthInfo: name}
	c.CurrentContext = "lab"
	path := l.Path("kubeconfigs", name)
	return path, clientcmd.WriteToFile(*c, path)
}

func core(l *lab.Lab) (*kubernetes.Clientset, error) {
	c, err := control.Config(l)
	if err != nil {
		return nil, err
	}
	return kubernetes.NewForConfig(c)
}

// startKubelet starts the kubelet and waits until its node is ready.
func startKubelet(ctx context.Context, l *lab.Lab, program string) error {
	kubeconfig, err := client(l, "kubelet", "system:node:"+NodeName, "system:nodes")
	if err != nil {
		return err
	}
	a, err := control.OpenAuthority(l.Path("pki"))
	if err != nil {
		return err
	}
	crt, key, err := a.Issue("kubelet", NodeName, nil, NodeName, Address)
	if err != nil {
		return err
	}
	names, err := write(l, "resolv.conf", "nameserver "+Address+"\n")
	if err != nil {
		return err
	}
	config, err := write(l, "kubelet.yaml", fmt.Sprintf(`apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: %[1]s
authentication: {anonymous: {enabled: false}, webhook: {enabled: false}, x509: {clientCAFile: %[2]s}}
authorization: {mode: AlwaysAllow}
tlsCertFile: %[3]s
tlsPrivateKeyFile: %[4]s
cgroupDriver: cgroupfs
cgroupRoot: /%[5]s
failCgroupV1: false
failSwapOn: false
clusterDNS: [%[1]s]
clusterDomain: %[6]s
resolvConf: %[7]s
containerRuntimeEndpoint: unix://%[8]s
imageGCHighThresholdPercent: 100
evictionHard: {memory.available: 50Mi, nodefs.available: 1%%, imagefs.available: 1%%}
healthzBindAddress: 127.0.0.1
maxPods: 200
localStorageCapacityIsolation: false
`, Address, a.Path("ca.crt"), crt, key, group(l), domain, names, socket(l)))
	if err != nil {
		return err
	}
	argv, err := onNode(l, program, "--config", config, "--kubeconfig", kubeconfig, "--hostname-override", NodeName, "--node-ip", Address, "--node-labels", nodeLabels)
	if err != nil {
		return err
	}
	if err := l.Start(lab.Process{Name: "kubelet", Argv: argv}); err != nil {
		return err
	}
	c, err := core(l)
	if err != nil {
		return err
	}
	if err := l.Until(ctx, "the node is ready", 2*time.Minute, func(ctx context.Context) error {
		if p, err := l.Process("kubelet"); err == nil && !p.Running() {
			return fmt.Errorf("the kubelet has ended; see %s", l.Log("kubelet"))
		}
		n, err := c.CoreV1().Nodes().Get(ctx, NodeName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, x := range n.Status.Conditions {
			if x.Type == corev1.NodeReady && x.Status == corev1.ConditionTrue {
				return nil
			}
			if x.Type == corev1.NodeReady {
				err = fmt.Errorf("it is not: %s", x.Message)
			}
		}
		return err
	}); err != nil {
		return err
	}
	return offerDevices(ctx, c)
}

// offerDevices puts the devices of virtual machines into the node's capacity, from where the kubelet takes them over.
func offerDevices(ctx context.Context, c *kubernetes.Clientset) error {
	have := map[string]string{}
	for _, d := range devices {
		have[d] = "1000"
	}
	b, err := json.Marshal(map[string]any{"status": map[string]any{"capacity": have}})
	if err != nil {
		return err
	}
	if _, err := c.CoreV1().Nodes().Patch(ctx, NodeName, types.StrategicMergePatchType, b, metav1.PatchOptions{}, "status"); err != nil {
		return fmt.Errorf("offer the devices of virtual machines: %w", err)
	}
	return nil
}
