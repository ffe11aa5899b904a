package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	tea "charm.land/bubbletea/v2"

	"landfall/engine"
	"landfall/engine/spec"
	"landfall/ui/pages"
	"landfall/ui/pages/draft"
	"landfall/ui/widget"
)

// think makes VMs those that are thought about; none leaves those that are.
func (m *Model) think(vms []engine.Listed) {
	if len(vms) == 0 && m.draft != nil {
		return
	}
	m.draft = draft.New(vms, m.cfg.DefaultSpec, m.snap)
}

// look asks the engine to look at documents.
func (m *Model) look(a pages.Look) tea.Cmd {
	desk, who := m.cfg.Desk, m.cfg.Person
	said := "the engine looks at " + widget.Count(len(a.Documents), "VM", "VMs")
	if !m.snap.Alive {
		said = "asked for; it is looked at when an engine runs"
	}
	return m.aside(func(ctx context.Context) tea.Msg {
		return doneMsg{said: said, what: "look at the plan", err: desk.Look(ctx, a.Documents, who)}
	})
}

// save writes documents aside, and asks before it replaces a file.
func (m *Model) save(a pages.Save) tea.Cmd {
	return m.aside(func(context.Context) tea.Msg {
		path, err := write(a)
		if errors.Is(err, fs.ErrExist) {
			return askMsg{pages.AskOne{Title: "Save the plan", Text: path + " is there already.", Choices: []pages.Choice{{
				Label: "Replace it", Effect: "what is in " + path + " now is lost",
				Take: func() pages.Action { return pages.Save{Path: path, Documents: a.Documents, Replace: true} },
			}}}}
		}
		return doneMsg{said: "saved: landfall apply -f " + path, what: "save the plan", err: err}
	})
}

// write puts documents into a file that only its owner reads. One that is there is fs.ErrExist unless it may be replaced,
// and then stays as it is until the new one is whole.
func write(a pages.Save) (path string, err error) {
	if path, err = filepath.Abs(a.Path); err != nil {
		return a.Path, err
	}
	b, err := spec.WriteAll(a.Documents)
	if err != nil {
		return path, err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".landfall-*") // 0600
	if err != nil {
		return path, fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }() // gone already where it was renamed
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return path, fmt.Errorf("write %s: %w", path, err)
	}
	if a.Replace {
		err = os.Rename(f.Name(), path)
	} else {
		err = os.Link(f.Name(), path)
	}
	if err != nil {
		return path, fmt.Errorf("write %s: %w", path, err)
	}
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
	return path, nil
}
