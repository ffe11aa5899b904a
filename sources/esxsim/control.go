package esxsim

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"
)

// control is the side by which another process steers the host: plain HTTP on
// loopback, one verb a request, with a token that only the ready file tells.
type control struct {
	url, token string
	srv        *http.Server
}

// order is what a verb is about; each verb reads what it needs.
type order struct {
	VM       string         `json:"vm,omitempty"`
	Name     string         `json:"name,omitempty"`
	Power    Power          `json:"power,omitempty"`
	Disk     int            `json:"disk,omitempty"`
	Size     int64          `json:"size,omitempty"`
	Offset   int64          `json:"offset,omitempty"`
	Data     []byte         `json:"data,omitempty"`
	Rate     int64          `json:"rate,omitempty"`
	Shutdown Shutdown       `json:"shutdown"`
	SOAP     *SOAPFault     `json:"soap,omitempty"`
	HTTP     *HTTPFault     `json:"http,omitempty"`
	Writer   *Writer        `json:"writer,omitempty"`
	Tracking TrackingFaults `json:"tracking"`
	Count    int            `json:"count,omitempty"`
	Works    bool           `json:"works,omitempty"`
}

// report is what a verb answers.
type report struct {
	Error       string            `json:"error,omitempty"`
	Digest      string            `json:"digest,omitempty"`
	Digests     map[string]string `json:"digests,omitempty"`
	Counters    *Counters         `json:"counters,omitempty"`
	Fingerprint string            `json:"fingerprint,omitempty"`
}

func (s *Server) verb(name string, o order) (r report, err error) {
	switch name {
	case "power":
		err = s.SetPower(o.VM, o.Power)
	case "shutdown":
		err = s.SetShutdown(o.VM, o.Shutdown)
	case "grow":
		err = s.GrowDisk(o.VM, o.Disk, o.Size)
	case "write":
		err = s.WriteDisk(o.VM, o.Disk, o.Offset, o.Data)
	case "snapshot":
		err = s.TakeSnapshot(o.VM, o.Name)
	case "unsnapshot":
		err = s.RemoveSnapshots(o.VM, o.Name)
	case "rename":
		err = s.Rename(o.VM, o.Name)
	case "unregister":
		err = s.Unregister(o.VM)
	case "endsessions":
		s.EndSessions()
	case "swapcertificate":
		err = s.SwapCertificate()
	case "rate":
		s.SetRate(o.Rate)
	case "failsoap":
		if o.SOAP == nil {
			return r, fmt.Errorf("failsoap: no fault given")
		}
		err = s.FailSOAP(*o.SOAP)
	case "failhttp":
		if o.HTTP == nil {
			return r, fmt.Errorf("failhttp: no fault given")
		}
		err = s.FailHTTP(*o.HTTP)
	case "clearfaults":
		s.ClearFaults()
	case "resetcounters":
		s.ResetCounters()
	case "counters":
		c := s.Counters()
		r.Counters = &c
	case "digest":
		r.Digest, err = s.Digest(o.VM, o.Disk)
	case "digestat":
		r.Digest, err = s.DigestAt(o.VM, o.Disk, o.Name)
	case "writer":
		if o.Writer == nil {
			return r, fmt.Errorf("writer: none given")
		}
		if o.Count > 0 {
			err = s.Write(o.VM, *o.Writer, o.Count)
		} else {
			err = s.SetWriter(o.VM, *o.Writer)
		}
	case "tracking":
		err = s.SetTracking(o.VM, o.Disk, o.Tracking)
	case "losetracking":
		err = s.LoseTracking(o.VM)
	case "move":
		err = s.Move(o.VM, o.Name, o.Works)
	case "quiesce":
		err = s.SetQuiesce(o.VM, o.Works)
	case "keepdeltas":
		err = s.KeepDeltas(o.VM, o.Count)
	case "digests":
		r.Digests, err = s.Digests()
	case "ping":
	default:
		err = fmt.Errorf("verb %q is unknown", name)
	}
	r.Fingerprint = s.Fingerprint()
	return r, err
}

func (s *Server) startControl(listen string) (*control, error) {
	l, err := net.Listen("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("control: %w", err)
	}
	c := &control{url: "http://" + l.Addr().String(), token: rand.Text()}
	c.srv = &http.Server{ErrorLog: log.New(s.cfg.Log, "", 0), ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), []byte("Bearer "+c.token)) != 1 {
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		name, ok := strings.CutPrefix(r.URL.Path, "/esxsim/")
		if !ok || r.Method != http.MethodPost {
			http.NotFound(w, r)
			return
		}
		var o order
		d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<20))
		d.DisallowUnknownFields()
		err := d.Decode(&o)
		var answer report
		if err == nil {
			answer, err = s.verb(name, o)
		}
		w.Header().Set("Content-Type", "application/json")
		if err != nil {
			answer.Error = err.Error()
			w.WriteHeader(http.StatusBadRequest)
		}
		_ = json.NewEncoder(w).Encode(answer)
	})}
	s.serving.Go(func() { _ = c.srv.Serve(l) })
	return c, nil
}

func (c *control) close() {
	if c != nil {
		_ = c.srv.Close()
	}
}

// ControlURL and ControlToken are what a Client needs; empty without Config.Control.
func (s *Server) ControlURL() string {
	if s.control == nil {
		return ""
	}
	return s.control.url
}

// ControlToken goes with ControlURL.
func (s *Server) ControlToken() string {
	if s.control == nil {
		return ""
	}
	return s.control.token
}
