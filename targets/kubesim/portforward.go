package kubesim

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/apimachinery/pkg/util/httpstream/spdy"
)

// What the port forwarding protocol calls its streams.
const (
	forwardProtocol = "portforward.k8s.io"
	headerStream    = "streamType"
	headerPort      = "port"
	headerRequest   = "requestID"
)

// portForward speaks SPDY, as every client can; each request of the client is a pair of streams.
func (s *Server) portForward(w http.ResponseWriter, r *request) {
	ip, _, err := s.podAddress(r.namespace, r.name, "")
	if err != nil {
		writeError(w, err)
		return
	}
	if _, err := httpstream.Handshake(r.Request, w, []string{forwardProtocol}); err != nil {
		writeError(w, apierrors.NewBadRequest(err.Error()))
		return
	}
	streams := make(chan httpstream.Stream)
	over := make(chan struct{})
	defer close(over)
	conn := spdy.NewResponseUpgrader().UpgradeResponse(w, r.Request, func(stream httpstream.Stream, _ <-chan struct{}) error {
		select {
		case streams <- stream:
			return nil
		case <-over:
			return io.ErrClosedPipe
		}
	})
	if conn == nil {
		return // the upgrader has answered
	}
	defer conn.Close()
	waiting := map[string]httpstream.Stream{}
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-conn.CloseChan():
			return
		case stream := <-streams:
			id := stream.Headers().Get(headerRequest)
			other, ok := waiting[id]
			if !ok {
				waiting[id] = stream
				continue
			}
			delete(waiting, id)
			data, failure := stream, other
			if stream.Headers().Get(headerStream) == "error" {
				data, failure = other, stream
			}
			go s.forward(conn, ip, data, failure)
		}
	}
}

func (s *Server) forward(conn httpstream.Connection, ip string, data, failure httpstream.Stream) {
	defer conn.RemoveStreams(data, failure)
	defer failure.Close()
	defer data.Reset()
	to, err := s.dialPod(s.ctx, "tcp", net.JoinHostPort(ip, data.Headers().Get(headerPort)))
	if err != nil {
		fmt.Fprintf(failure, "error forwarding port %s to pod: %v", data.Headers().Get(headerPort), err)
		return
	}
	defer to.Close()
	var both sync.WaitGroup
	both.Go(func() {
		io.Copy(to, data)
		if half, ok := to.(interface{ CloseWrite() error }); ok {
			half.CloseWrite()
		}
	})
	io.Copy(data, to)
	data.Close()
	to.Close()
	data.Reset() // ends the copy from a client that is still sending
	both.Wait()
}
