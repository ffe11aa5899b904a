package spec

const (
	DefaultRetryLimit      = 3
	DefaultBootTimeout     = 600 // seconds
	DefaultShutdownTimeout = 300 // seconds
	// DefaultConnections is how many disk streams one ESXi host is asked for at once; eight saturate it and
	// four are safe on every release.
	DefaultConnections = 8
)

// Default gives the spec with every option resolved, as it is frozen when a migration starts.
func (s Spec) Default() Spec {
	set := func(p *string, v string) {
		if *p == "" {
			*p = v
		}
	}
	s.Source = s.Source.Default()
	set(&s.Destination.RunStrategy, "Always")
	set(&s.Destination.Firmware, "auto")
	set(&s.Strategy.Type, "Cold")
	set((*string)(&s.Strategy.Conversion), string(ConvertNone))
	set((*string)(&s.Strategy.Delivery), string(Upload))
	set(&s.Strategy.Verify, "fast")
	if s.Strategy.Type == "Warm" {
		s.Strategy.Warm = s.Strategy.Warm.Default()
	}
	if s.Strategy.RetryLimit == nil {
		n := DefaultRetryLimit
		s.Strategy.RetryLimit = &n
	}
	if s.PreserveMACAddress == nil {
		keep := true
		s.PreserveMACAddress = &keep
	}
	if s.Validation.BootTimeoutSeconds == 0 {
		s.Validation.BootTimeoutSeconds = DefaultBootTimeout
	}
	checks := make([]Check, len(s.Validation.Checks))
	for i, c := range s.Validation.Checks {
		if c.Type == "HTTP" {
			if c.Port == 0 {
				c.Port = 80
			}
			set(&c.Path, "/")
			if c.ExpectStatus == 0 {
				c.ExpectStatus = 200
			}
		}
		checks[i] = c
	}
	s.Validation.Checks = checks
	nets := make([]NetworkMapping, len(s.Network.Mappings))
	for i, m := range s.Network.Mappings {
		if m.Binding == "" {
			m.Binding = "bridge"
			if m.Type == "Pod" {
				m.Binding = "masquerade"
			}
		}
		nets[i] = m
	}
	s.Network.Mappings = nets
	set(&s.CleanupPolicy, "DeleteStaging")
	return s
}

// Default gives the source with every option resolved.
func (s Source) Default() Source {
	if s.Type == "" {
		s.Type = "vsphere"
	}
	if s.PowerOffPolicy == "" {
		s.PowerOffPolicy = GracefulThenAsk
	}
	if s.ShutdownSeconds == 0 {
		s.ShutdownSeconds = DefaultShutdownTimeout
	}
	if s.MaxConnections == 0 {
		s.MaxConnections = DefaultConnections
	}
	return s
}
