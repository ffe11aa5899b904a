package kubesim_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	virtv1 "kubevirt.io/api/core/v1"
	"kubevirt.io/client-go/kubecli"

	"landfall/targets/kubesim"
)

// machine is a VM on the DataVolume or claim of that name.
func machine(name, volume string, strategy virtv1.VirtualMachineRunStrategy) *virtv1.VirtualMachine {
	memory := resource.MustParse("1Gi")
	return &virtv1.VirtualMachine{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: ns},
		Spec: virtv1.VirtualMachineSpec{
			RunStrategy: &strategy,
			Template: &virtv1.VirtualMachineInstanceTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"vm": name}},
				Spec: virtv1.VirtualMachineInstanceSpec{
					Domain: virtv1.DomainSpec{
						Memory: &virtv1.Memory{Guest: &memory},
						Devices: virtv1.Devices{
							Disks:      []virtv1.Disk{{Name: "root", DiskDevice: virtv1.DiskDevice{Disk: &virtv1.DiskTarget{Bus: virtv1.DiskBusVirtio}}}},
							Interfaces: []virtv1.Interface{{Name: "default", Model: "virtio", MacAddress: "00:50:56:aa:bb:01", InterfaceBindingMethod: virtv1.InterfaceBindingMethod{Masquerade: &virtv1.InterfaceMasquerade{}}}},
						},
					},
					Networks: []virtv1.Network{{Name: "default", NetworkSource: virtv1.NetworkSource{Pod: &virtv1.PodNetwork{}}}},
					Volumes:  []virtv1.Volume{{Name: "root", VolumeSource: virtv1.VolumeSource{DataVolume: &virtv1.DataVolumeSource{Name: volume}}}},
				},
			},
		},
	}
}

// memDisk is a disk image in memory.
type memDisk []byte

func (d memDisk) WriteAt(p []byte, off int64) (int, error) { return copy(d[off:], p), nil }

func bootable(t *testing.T, g kubesim.Guest) []byte {
	t.Helper()
	d := memDisk(randomImage(t, 4<<20))
	if g.Pages == nil {
		g.Pages = map[string]kubesim.Page{"/": {Body: "hello from the migrated disk"}}
	}
	if err := kubesim.WriteGuest(d, g, 3<<20); err != nil {
		t.Fatal(err)
	}
	return d
}

// arrive uploads an image into a new DataVolume.
func arrive(t *testing.T, s *kubesim.Server, v kubecli.KubevirtClient, name string, image []byte) {
	t.Helper()
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume(name, "4Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPhase(t, v, name, "UploadReady")
	if code, text := send(t, s, v, name, compress(t, "zstd", image)); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, text)
	}
	awaitPhase(t, v, name, "Succeeded")
}

func create(t *testing.T, v kubecli.KubevirtClient, vm *virtv1.VirtualMachine) {
	t.Helper()
	if _, err := v.VirtualMachine(ns).Create(t.Context(), vm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func awaitPrintable(t *testing.T, v kubecli.KubevirtClient, name string, want virtv1.VirtualMachinePrintableStatus) *virtv1.VirtualMachine {
	t.Helper()
	var vm *virtv1.VirtualMachine
	eventually(t, "VM "+name+" to be "+string(want), func() (bool, string) {
		var err error
		if vm, err = v.VirtualMachine(ns).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return vm.Status.PrintableStatus == want, string(vm.Status.PrintableStatus)
	})
	return vm
}

func setStrategy(t *testing.T, v kubecli.KubevirtClient, name string, to virtv1.VirtualMachineRunStrategy) {
	t.Helper()
	if _, err := v.VirtualMachine(ns).Patch(t.Context(), name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"runStrategy":%q}}`, to), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
}

func condition(vmi *virtv1.VirtualMachineInstance, kind virtv1.VirtualMachineInstanceConditionType) virtv1.VirtualMachineInstanceCondition {
	for _, c := range vmi.Status.Conditions {
		if c.Type == kind {
			return c
		}
	}
	return virtv1.VirtualMachineInstanceCondition{}
}

func TestMachineLife(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	arrive(t, s, v, "disk", bootable(t, kubesim.Guest{Agent: &kubesim.Agent{Hostname: "web01", ID: "debian", PrettyName: "Debian GNU/Linux 12"}}))
	create(t, v, machine("web", "disk", virtv1.RunStrategyHalted))
	vm := awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusStopped)
	if vm.Status.Created || vm.Status.Ready {
		t.Errorf("a halted VM is created %t, ready %t", vm.Status.Created, vm.Status.Ready)
	}
	if _, err := v.VirtualMachineInstance(ns).Get(t.Context(), "web", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a halted VM has an instance: %v", err)
	}
	w, err := v.VirtualMachineInstance(ns).Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	setStrategy(t, v, "web", virtv1.RunStrategyAlways)
	var phases []string
	for len(phases) == 0 || phases[len(phases)-1] != "Running" {
		vmi := next(t, w).Object.(*virtv1.VirtualMachineInstance)
		if p := string(vmi.Status.Phase); len(phases) == 0 || phases[len(phases)-1] != p {
			phases = append(phases, p)
		}
	}
	if got := strings.Join(phases, " "); got != "Pending Scheduling Scheduled Running" {
		t.Errorf("phases were %s", got)
	}
	vm = awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusRunning)
	if !vm.Status.Created || !vm.Status.Ready {
		t.Errorf("a running VM is created %t, ready %t", vm.Status.Created, vm.Status.Ready)
	}
	var vmi *virtv1.VirtualMachineInstance
	eventually(t, "the agent to connect", func() (bool, string) {
		if vmi, err = v.VirtualMachineInstance(ns).Get(t.Context(), "web", metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		return condition(vmi, virtv1.VirtualMachineInstanceAgentConnected).Status == corev1.ConditionTrue, fmt.Sprint(vmi.Status.Conditions)
	})
	if vmi.OwnerReferences[0].UID != vm.UID || vmi.Status.NodeName != "node-1" || len(vmi.Status.Interfaces) != 1 || net.ParseIP(vmi.Status.Interfaces[0].IP) == nil || vmi.Status.Interfaces[0].MAC != "00:50:56:aa:bb:01" {
		t.Errorf("instance has owner %v, node %q, interfaces %+v", vmi.OwnerReferences, vmi.Status.NodeName, vmi.Status.Interfaces)
	}
	info, err := v.VirtualMachineInstance(ns).GuestOsInfo(t.Context(), "web")
	if err != nil || info.Hostname != "web01" || info.OS.PrettyName != "Debian GNU/Linux 12" {
		t.Errorf("guest info %+v: %v", info, err)
	}
	setStrategy(t, v, "web", virtv1.RunStrategyHalted)
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusStopped)
	if pods, err := core(t, s).CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{}); err != nil || len(pods.Items) != 0 {
		t.Errorf("after the stop there are %d pods: %v", len(pods.Items), err)
	}
	if err := v.VirtualMachine(ns).Start(t.Context(), "web", &virtv1.StartOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusRunning)
	if err := v.VirtualMachine(ns).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "VM and instance to go", func() (bool, string) {
		_, a := v.VirtualMachine(ns).Get(t.Context(), "web", metav1.GetOptions{})
		_, b := v.VirtualMachineInstance(ns).Get(t.Context(), "web", metav1.GetOptions{})
		return apierrors.IsNotFound(a) && apierrors.IsNotFound(b), fmt.Sprint(a, b)
	})
	if p := phase(t, v, "disk"); p != "Succeeded" {
		t.Errorf("with the VM its disk went: %s", p)
	}
}

func TestMachineWaitsForItsDisk(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	create(t, v, machine("web", "disk", virtv1.RunStrategyAlways))
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusPvcNotFound)
	if _, err := v.CdiClient().CdiV1beta1().DataVolumes(ns).Create(t.Context(), dataVolume("disk", "4Mi", upload()), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusProvisioning)
	awaitPhase(t, v, "disk", "UploadReady")
	if code, text := send(t, s, v, "disk", bootable(t, kubesim.Guest{})); code != http.StatusOK {
		t.Fatalf("upload: %d %s", code, text)
	}
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusRunning)
}

func TestMachineThatFitsNoNode(t *testing.T) {
	for _, row := range []struct {
		name string
		node kubesim.Node
		want string
	}{
		{"no KVM", kubesim.Node{Name: "n", NoKVM: true}, "0/1 nodes are available: 1 Insufficient devices.kubevirt.io/kvm."},
		{"too little memory", kubesim.Node{Name: "n", Memory: "1Gi"}, "0/1 nodes are available: 1 Insufficient memory."},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := start(t, kubesim.Config{Nodes: []kubesim.Node{row.node}})
			v := virt(t, s)
			arrive(t, s, v, "disk", bootable(t, kubesim.Guest{}))
			create(t, v, machine("web", "disk", virtv1.RunStrategyAlways))
			awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusUnschedulable)
			vmi, err := v.VirtualMachineInstance(ns).Get(t.Context(), "web", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c := condition(vmi, "PodScheduled")
			if vmi.Status.Phase != virtv1.Scheduling || c.Status != corev1.ConditionFalse || c.Reason != "Unschedulable" || !strings.HasPrefix(c.Message, row.want) {
				t.Errorf("phase %s, PodScheduled %+v, want %q", vmi.Status.Phase, c, row.want)
			}
		})
	}
}

func TestMachineOnAMissingNetworkWaits(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	arrive(t, s, v, "disk", bootable(t, kubesim.Guest{}))
	vm := machine("web", "disk", virtv1.RunStrategyAlways)
	spec := &vm.Spec.Template.Spec
	spec.Networks[0].NetworkSource = virtv1.NetworkSource{Multus: &virtv1.MultusNetwork{NetworkName: "blue"}}
	spec.Domain.Devices.Interfaces[0].InterfaceBindingMethod = virtv1.InterfaceBindingMethod{Bridge: &virtv1.InterfaceBridge{}}
	create(t, v, vm)
	eventually(t, "the instance to name the network", func() (bool, string) {
		vmi, err := v.VirtualMachineInstance(ns).Get(t.Context(), "web", metav1.GetOptions{})
		if err != nil {
			return false, err.Error()
		}
		c := condition(vmi, virtv1.VirtualMachineInstanceSynchronized)
		return vmi.Status.Phase == virtv1.Pending && c.Status == corev1.ConditionFalse && strings.Contains(c.Message, "network attachment definition vms/blue"), fmt.Sprint(c)
	})
}

func TestControllersComeToRest(t *testing.T) {
	s := start(t, kubesim.Config{Quotas: []kubesim.Quota{{Namespace: ns, Name: "q", Hard: map[string]string{"pods": "10", "requests.memory": "8Gi"}}}})
	v := virt(t, s)
	arrive(t, s, v, "disk", bootable(t, kubesim.Guest{Agent: &kubesim.Agent{Hostname: "h"}}))
	create(t, v, machine("web", "disk", virtv1.RunStrategyAlways))
	create(t, v, machine("stuck", "nothing", virtv1.RunStrategyAlways))
	service(t, s, "web", 80)
	awaitPrintable(t, v, "web", virtv1.VirtualMachineStatusRunning)
	version := func() string {
		list, err := core(t, s).CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return list.ResourceVersion
	}
	eventually(t, "the cluster to be quiet", func() (bool, string) {
		before := version()
		time.Sleep(100 * time.Millisecond)
		return version() == before, "changing"
	})
}

func TestMachinesThatAreRefused(t *testing.T) {
	v := virt(t, start(t, kubesim.Config{Preferences: []kubesim.Preference{{Name: "wide", CPUs: 64}, {Name: "large", Memory: "900Gi"}}}))
	for _, row := range []struct {
		name   string
		change func(*virtv1.VirtualMachine)
		want   string
	}{
		{"unknown bus", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Devices.Disks[0].Disk.Bus = "nonsense"
		}, "spec.template.spec.domain.devices.disks[0] is set with an unrecognized bus nonsense"},
		{"unknown run strategy", func(vm *virtv1.VirtualMachine) {
			vm.Spec.RunStrategy = new(virtv1.VirtualMachineRunStrategy)
			*vm.Spec.RunStrategy = "Nope"
		}, "Invalid RunStrategy (Nope)"},
		{"no run strategy", func(vm *virtv1.VirtualMachine) { vm.Spec.RunStrategy = nil }, "One of Running or RunStrategy must be specified"},
		{"no memory", func(vm *virtv1.VirtualMachine) { vm.Spec.Template.Spec.Domain.Memory = nil }, "no memory requested"},
		{"no template", func(vm *virtv1.VirtualMachine) { vm.Spec.Template = nil }, "missing virtual machine template."},
		{"disk without volume", func(vm *virtv1.VirtualMachine) { vm.Spec.Template.Spec.Volumes = nil }, "spec.template.spec.domain.devices.disks[0].Name 'root' not found."},
		{"interface without network", func(vm *virtv1.VirtualMachine) { vm.Spec.Template.Spec.Networks = nil }, "spec.template.spec.domain.devices.interfaces[0].name 'default' not found."},
		{"bad MAC", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Devices.Interfaces[0].MacAddress = "xyz"
		}, "malformed MAC address (xyz)"},
		{"instancetype is not there", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Memory = nil
			vm.Spec.Instancetype = &virtv1.InstancetypeMatcher{Name: "u1.none"}
		}, `Failure to find instancetype: virtualmachineclusterinstancetypes.instancetype.kubevirt.io "u1.none" not found`},
		{"preference is not there", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Preference = &virtv1.PreferenceMatcher{Name: "none"}
		}, `Failure to find preference: virtualmachineclusterpreferences.instancetype.kubevirt.io "none" not found`},
		{"preference requires more CPUs", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Preference = &virtv1.PreferenceMatcher{Name: "wide"}
		}, "insufficient CPU resources of 1 vCPU provided by VirtualMachine, preference requires 64 vCPU"},
		{"preference requires more memory", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Preference = &virtv1.PreferenceMatcher{Name: "large"}
		}, "preference requires 900Gi"},
		{"secure boot without SMM", func(vm *virtv1.VirtualMachine) {
			vm.Spec.Template.Spec.Domain.Firmware = &virtv1.Firmware{Bootloader: &virtv1.Bootloader{EFI: &virtv1.EFI{}}}
		}, "has SecureBoot enabled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			vm := machine("web", "disk", virtv1.RunStrategyHalted)
			row.change(vm)
			_, err := v.VirtualMachine(ns).Create(t.Context(), vm, metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), `admission webhook "virtualmachine-validator.kubevirt.io" denied the request: `) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("create: %v, want %q", err, row.want)
			}
		})
	}
}

// fetch asks for the guest's page through the API server's service proxy.
func fetch(t *testing.T, s *kubesim.Server, service, port, path string) (string, error) {
	t.Helper()
	raw, err := core(t, s).CoreV1().Services(ns).ProxyGet("http", service, port, path, nil).DoRaw(t.Context())
	return string(raw), err
}

func service(t *testing.T, s *kubesim.Server, vm string, port int) {
	t.Helper()
	if _, err := core(t, s).CoreV1().Services(ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "probe-" + vm},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"vm": vm}, Ports: []corev1.ServicePort{{Port: 80, TargetPort: intstr.FromInt32(int32(port))}}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func TestGuestAnswersOnlyFromItsDisk(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	pages := map[string]kubesim.Page{"/": {Body: "front"}, "/health": {Status: 201, Body: "fine", Type: "text/plain"}}
	good := bootable(t, kubesim.Guest{Port: 8080, Pages: pages})
	damaged := bytes.Clone(good)
	damaged[3<<20+5] ^= 1
	blank := bytes.Clone(good)
	clear(blank[510:512])
	for name, image := range map[string][]byte{"good": good, "damaged": damaged, "blank": blank, "nodriver": bootable(t, kubesim.Guest{Port: 8080, Buses: []string{"sata"}}), "efi": bootable(t, kubesim.Guest{Port: 8080, Firmware: "efi"})} {
		arrive(t, s, v, name, image)
		service(t, s, name, 8080)
		if body, err := fetch(t, s, "probe-"+name, "80", "/"); !apierrors.IsServiceUnavailable(err) || !strings.Contains(body, "no endpoints available for service") {
			t.Errorf("before the start: %v %s", err, body)
		}
		create(t, v, machine(name, name, virtv1.RunStrategyAlways))
	}
	eventually(t, "the page", func() (bool, string) {
		body, err := fetch(t, s, "probe-good", "80", "/")
		return body == "front", fmt.Sprint(body, err)
	})
	if body, err := fetch(t, s, "probe-good", "80", "/health"); err != nil || body != "fine" {
		t.Errorf("page /health: %q %v", body, err)
	}
	if _, err := fetch(t, s, "probe-good", "80", "/none"); !apierrors.IsNotFound(err) {
		t.Errorf("a page that is not there: %v", err)
	}
	if _, err := fetch(t, s, "probe-good", "81", "/"); !apierrors.IsServiceUnavailable(err) {
		t.Errorf("a port that is not there: %v", err)
	}
	for name, why := range map[string]string{"damaged": "is damaged: SHA-256", "blank": "no boot signature", "nodriver": "no driver for the bus virtio", "efi": "boots with efi, the machine has bios"} {
		eventually(t, "the guest "+name+" to stop", func() (bool, string) {
			g, ok := s.Guest(ns, name)
			return ok && strings.Contains(g.Why, why), fmt.Sprintf("%+v", g)
		})
		awaitPrintable(t, v, name, virtv1.VirtualMachineStatusRunning)
		if body, err := fetch(t, s, "probe-"+name, "80", "/"); !apierrors.IsServiceUnavailable(err) || !strings.Contains(body, "connection refused") {
			t.Errorf("page of a guest that did not come up: %v %s", err, body)
		}
		if _, err := v.VirtualMachineInstance(ns).GuestOsInfo(t.Context(), name); !apierrors.IsConflict(err) {
			t.Errorf("agent of a guest that did not come up: %v", err)
		}
	}
}

func TestGuestMayBeARealMachine(t *testing.T) {
	s := start(t, kubesim.Config{})
	v := virt(t, s)
	real := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "real machine, %s, token %q", r.URL.Path, r.Header.Get("Authorization"))
	}))
	defer real.Close()
	arrive(t, s, v, "disk", randomImage(t, 4<<20))
	s.SetBackend(ns, "web", real.Listener.Addr().String())
	service(t, s, "web", 80)
	create(t, v, machine("web", "disk", virtv1.RunStrategyAlways))
	eventually(t, "the page", func() (bool, string) {
		body, err := fetch(t, s, "probe-web", "80", "/x/y")
		return body == `real machine, /x/y, token ""`, fmt.Sprint(body, err)
	})
}

func TestPortForwardReachesTheUploadProxy(t *testing.T) {
	s := start(t, kubesim.Config{})
	pods, err := core(t, s).CoreV1().Pods("cdi").List(t.Context(), metav1.ListOptions{LabelSelector: "cdi.kubevirt.io=cdi-uploadproxy"})
	if err != nil || len(pods.Items) != 1 {
		t.Fatalf("%d upload proxies: %v", len(pods.Items), err)
	}
	transport, upgrader, err := spdy.RoundTripperFor(s.RESTConfig(""))
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(s.URL() + "/api/v1/namespaces/cdi/pods/" + pods.Items[0].Name + "/portforward")
	if err != nil {
		t.Fatal(err)
	}
	stop, ready := make(chan struct{}), make(chan struct{})
	f, err := portforward.NewOnAddresses(spdy.NewDialer(upgrader, &http.Client{Transport: transport}, "POST", u), []string{"127.0.0.1"}, []string{"0:8443"}, stop, ready, io.Discard, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- f.ForwardPorts() }()
	select {
	case <-ready:
	case err := <-over:
		t.Fatal(err)
	case <-time.After(10 * time.Second):
		t.Fatal("the forwarding does not come up")
	}
	ports, err := f.GetPorts()
	if err != nil {
		t.Fatal(err)
	}
	client, _ := uploader(t, virt(t, s))
	for range 2 {
		resp, err := client.Get(fmt.Sprintf("https://127.0.0.1:%d/healthz", ports[0].Local))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || string(raw) != "OK" {
			t.Errorf("healthz through the forwarding: %q %v", raw, err)
		}
		client.CloseIdleConnections()
	}
	close(stop)
	if err := <-over; err != nil {
		t.Error(err)
	}
}
