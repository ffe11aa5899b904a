package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/store"
)

// wishes are the flags of migrate; what is not given stays as the endpoint's defaults have it.
type wishes struct {
	again, namespace, name, class, policy, strategy, conversion, delivery, serve, verify, check string
	throttle                                                                                    int64
	wait, print                                                                                 bool
}

func (a *app) migrate() *cobra.Command {
	var w wishes
	cmd := &cobra.Command{Use: "migrate VM…", Short: "Start migrations of VMs of the inventory",
		Long: "Start migrations of VMs of the inventory, by id or exact name, with the defaults of their source.\n--print shows the documents instead of starting them.",
		RunE: a.changing(func(ctx context.Context, s *store.Store, args []string) error {
			docs, err := a.documents(ctx, s, args, w)
			if err != nil {
				return err
			}
			if w.print {
				for _, d := range docs {
					b, err := spec.Write(d)
					if err != nil {
						return err
					}
					fmt.Fprintf(a.Out, "---\n%s", a.shown(b))
				}
				return nil
			}
			return a.begin(ctx, s, docs, w.wait)
		})}
	f := cmd.Flags()
	f.StringVar(&w.again, "again", "", "copy the document of an ended migration")
	w.flags(cmd)
	f.BoolVar(&w.wait, "wait", false, "wait until every migration has ended")
	f.BoolVar(&w.print, "print", false, "print the documents, start nothing")
	return cmd
}

// flags are those of every verb that makes documents of VMs.
func (w *wishes) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&w.namespace, "namespace", "n", "", "namespace of the VM")
	f.StringVar(&w.name, "name", "", "name of the VM in the cluster")
	f.StringVar(&w.class, "storage-class", "", "storage class of all disks")
	f.StringVar(&w.policy, "power-off-policy", "", "GracefulThenAsk, Graceful, GracefulThenForce or Never")
	f.StringVar(&w.strategy, "strategy", "", "Cold, or Warm: copied while it runs, cut over at your word")
	f.StringVar(&w.conversion, "conversion", "", "None or QemuImg")
	f.StringVar(&w.delivery, "delivery", "", "Upload or HTTP")
	f.StringVar(&w.serve, "serve-address", "", "host:port on which the cluster reaches this machine, for delivery HTTP")
	f.StringVar(&w.verify, "verify", "", "fast or proved")
	f.StringVar(&w.check, "check-http", "", "PORT/PATH[=TEXT]: wait until the guest answers, with the text in its page")
	f.Int64Var(&w.throttle, "throttle", 0, "bytes per second read from the source")
}

func (a *app) documents(ctx context.Context, s *store.Store, args []string, w wishes) ([]spec.Document, error) {
	if w.again != "" {
		m, err := s.Find(ctx, w.again)
		if err != nil {
			return nil, err
		}
		if len(args) > 0 {
			return nil, usageError{errors.New("--again names the VM already")}
		}
		d, err := w.apply(m.Document)
		return []spec.Document{d}, err
	}
	if len(args) == 0 {
		return nil, usageError{errors.New("name at least one VM")}
	}
	if w.name != "" && len(args) > 1 {
		return nil, usageError{errors.New("--name is for one VM")}
	}
	list, err := a.inventory(ctx, s, false)
	if err != nil {
		return nil, err
	}
	if list, err = pick(list, args); err != nil {
		return nil, err
	}
	return documentsOf(ctx, s, list, w)
}

// documentsOf makes the documents of listed VMs, with the defaults of their sources.
func documentsOf(ctx context.Context, s *store.Store, list []engine.Listed, w wishes) ([]spec.Document, error) {
	endpoints, err := s.Endpoints(ctx)
	if err != nil {
		return nil, err
	}
	byName := map[string]engine.Endpoint{}
	for _, e := range endpoints {
		byName[e.Name] = e
	}
	var docs []spec.Document
	for _, l := range list {
		d, err := w.apply(documentFor(byName[l.Endpoint], l))
		if err != nil {
			return nil, err
		}
		docs = append(docs, d)
	}
	return docs, nil
}

func (w wishes) apply(d spec.Document) (spec.Document, error) {
	s := &d.Spec
	set := func(p *string, v string) {
		if v != "" {
			*p = v
		}
	}
	set(&s.Destination.Namespace, w.namespace)
	set(&s.Destination.VMName, w.name)
	set((*string)(&s.Source.PowerOffPolicy), w.policy)
	if s.Source.PowerOffPolicy == spec.Never {
		s.Source.ShutdownSeconds = 0 // the endpoint's default is for policies that shut down
	}
	set(&s.Strategy.Type, w.strategy)
	set((*string)(&s.Strategy.Conversion), w.conversion)
	set((*string)(&s.Strategy.Delivery), w.delivery)
	set(&s.Destination.ServeAddress, w.serve)
	set(&s.Strategy.Verify, w.verify)
	if w.throttle != 0 {
		s.Strategy.Throttle = w.throttle
	}
	if w.class != "" {
		s.Storage.Mappings = []spec.StorageMapping{{Datastore: "*", StorageClass: w.class}}
	}
	if w.check != "" {
		c := spec.Check{Type: "HTTP"}
		target, text, _ := strings.Cut(w.check, "=")
		port, path, _ := strings.Cut(target, "/")
		n, err := strconv.Atoi(port)
		if err != nil {
			return d, usageError{fmt.Errorf("--check-http %q: %q is not a port", w.check, port)}
		}
		c.Port, c.Path, c.ExpectBodyContains = n, "/"+path, text
		s.Validation.Checks = []spec.Check{c}
	}
	return d, d.Validate()
}
