package spec

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"go.yaml.in/yaml/v3"
)

// maxDocument bounds what is read: a document is a page, not a book.
const maxDocument = 1 << 20

// Read reads all documents of a YAML stream, strictly: an unknown field is an error that names its line. The documents are
// checked and not yet defaulted, so that what is kept is what the person wrote.
func Read(r io.Reader) ([]Document, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, fmt.Errorf("read document: %w", err)
	}
	if len(b) > maxDocument {
		return nil, fmt.Errorf("read document: larger than %d bytes", maxDocument)
	}
	dec := yaml.NewDecoder(bytes.NewReader(b))
	dec.KnownFields(true)
	var docs []Document
	for n := 1; ; n++ {
		var d Document
		switch err := dec.Decode(&d); {
		case errors.Is(err, io.EOF):
			if len(docs) == 0 {
				return nil, errors.New("read document: it is empty")
			}
			return docs, nil
		case err != nil:
			return nil, fmt.Errorf("document %d: %s", n, plain(err))
		}
		if err := d.Validate(); err != nil {
			return nil, fmt.Errorf("document %d (%s): %w", n, d.Metadata.Name, err)
		}
		docs = append(docs, d)
	}
}

// plain says a YAML error in the operator's words: "line 7: field foo is not known in Source".
func plain(err error) string {
	var te *yaml.TypeError
	if !errors.As(err, &te) {
		return strings.TrimPrefix(err.Error(), "yaml: ")
	}
	lines := make([]string, len(te.Errors))
	for i, l := range te.Errors {
		lines[i] = strings.Replace(strings.ReplaceAll(l, "spec.", ""), "not found in type", "is not known in", 1)
	}
	return strings.Join(lines, "; ")
}

// Write gives the document as YAML that Read takes back.
func Write(d Document) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(d); err != nil {
		return nil, fmt.Errorf("write document: %w", err)
	}
	return b.Bytes(), nil
}

// WriteAll gives the documents of a plan as one YAML stream that Read takes back.
func WriteAll(ds []Document) ([]byte, error) {
	var b bytes.Buffer
	for _, d := range ds {
		text, err := Write(d)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(text)
	}
	return b.Bytes(), nil
}
