package kubesim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	kjson "k8s.io/apimachinery/pkg/util/json"
)

// journal is the file of changes from which the store is read again. A line that was cut short by a kill is left out.
type journal struct {
	file *os.File
	err  error // the first one; reported when the server stops
}

type entry struct {
	RV     uint64          `json:"rv"`
	Event  string          `json:"event"`
	Kind   string          `json:"kind"`
	Object json.RawMessage `json:"object"`
}

const compactAt = 32 << 20

func decode(raw []byte) (object, error) {
	var o object
	if err := kjson.Unmarshal(raw, &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("is not a JSON object")
	}
	return o, nil
}

func (j *journal) write(c change) {
	line, err := encodeEntry(c)
	if err == nil {
		_, err = j.file.Write(line)
	}
	if err != nil && j.err == nil {
		j.err = fmt.Errorf("write journal %s: %w", j.file.Name(), err)
	}
}

func encodeEntry(c change) ([]byte, error) {
	raw, err := json.Marshal(c.object)
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(entry{c.rv, c.event, c.kind.key(), raw})
	return append(line, '\n'), err
}

// open reads the journal into the store and goes on writing to it.
func (s *store) open(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	good, err := s.replay(path)
	if err != nil {
		return err
	}
	if good > compactAt {
		if err := s.compact(path); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open journal: %w", err)
	}
	s.journal = &journal{file: f}
	return nil
}

func (s *store) replay(path string) (int64, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("read journal: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	var good int64
	for {
		line, err := r.ReadBytes('\n')
		if err == io.EOF {
			return good, truncateAt(path, good)
		}
		if err != nil {
			return good, fmt.Errorf("read journal %s: %w", path, err)
		}
		if err := s.apply(line); err != nil {
			return good, fmt.Errorf("read journal %s at byte %d: %w; remove the file to start with an empty cluster", path, good, err)
		}
		good += int64(len(line))
	}
}

// truncateAt drops a half-written last line, so that the next one does not continue it.
func truncateAt(path string, size int64) error {
	if st, err := os.Stat(path); err != nil || st.Size() == size {
		return err
	}
	return os.Truncate(path, size)
}

func (s *store) apply(line []byte) error {
	var e entry
	if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
		return err
	}
	s.rv = max(s.rv, e.RV)
	state := e.Event == "STATE"
	if state {
		s.trimmed = max(s.trimmed, e.RV)
	}
	k := kindByKey(e.Kind)
	if k == nil {
		return nil
	}
	o, err := decode(e.Object)
	if err != nil {
		return err
	}
	p := place{namespace(o), name(o)}
	before := s.items[k][p]
	if s.items[k] == nil {
		s.items[k] = map[place]object{}
	}
	if e.Event == "DELETED" {
		delete(s.items[k], p)
	} else {
		s.items[k][p] = o
	}
	if state {
		return nil
	}
	s.log = append(s.log, change{e.RV, e.Event, k, o, before})
	if len(s.log) > 2*s.keep {
		s.trim(s.keep)
	}
	return nil
}

// compact rewrites the journal with what exists now; what led to it is forgotten.
func (s *store) compact(path string) error {
	var buf bytes.Buffer
	for k, items := range s.items {
		for _, o := range items {
			rv, err := strconv.ParseUint(str(o, "metadata", "resourceVersion"), 10, 64)
			if err != nil {
				return fmt.Errorf("compact journal: %w", err)
			}
			line, err := encodeEntry(change{rv: rv, event: "STATE", kind: k, object: o})
			if err != nil {
				return fmt.Errorf("compact journal: %w", err)
			}
			buf.Write(line)
		}
	}
	// A last line that only carries the resource version, so that it never goes back.
	line, err := json.Marshal(entry{RV: s.rv, Event: "STATE", Object: json.RawMessage("{}")})
	if err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	buf.Write(append(line, '\n'))
	if err := writeFile(path, buf.Bytes()); err != nil {
		return fmt.Errorf("compact journal: %w", err)
	}
	s.log, s.trimmed = nil, s.rv
	return nil
}
