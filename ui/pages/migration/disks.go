package migration

import (
	"fmt"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/widget"
)

// diskLine is a disk in one line: what it does now.
func (p *Page) diskLine(k engine.Disk) string {
	s := fmt.Sprintf("disk %d %8s ", k.Index, widget.Bytes(k.Size))
	switch {
	case k.Imported:
		return s + p.th.Good.Render(p.th.Glyph.Done) + " imported"
	case k.Sent > 0 && k.Artifact != nil:
		return s + "sent " + p.move(k.Sent, k.Artifact.Length, k)
	case k.Acquired:
		return s + p.th.Good.Render(p.th.Glyph.Done) + " acquired, " + widget.Bytes(data(k)) + " of data"
	case k.ToCopy > 0:
		return s + "copied " + p.move(k.Copied, k.ToCopy, k)
	}
	return s + p.th.Muted.Render("not begun")
}

// data is how much of an acquired disk is not zeros.
func data(k engine.Disk) int64 {
	if k.Manifest == nil {
		return k.Copied
	}
	return k.Manifest.Data
}

func (p *Page) move(done, total int64, k engine.Disk) string {
	s := fmt.Sprintf("%s %3d%% %s of %s", widget.Bar(p.th, done, total, 8), widget.Percent(done, total), widget.Bytes(done), widget.Bytes(total))
	if r := widget.Rate(k.Rate); r != "" && done < total {
		s += ", " + r + ", ETA " + widget.ETA(k.ETA)
	}
	return s
}

// disks tells of every disk all that is known.
func (p *Page) disks(s *widget.Sheet, st engine.Status) {
	if len(st.Disks) == 0 {
		s.Say(p.th.Muted.Render("No disk is known yet: they are recorded in Discovering."), 0)
	}
	for _, k := range st.Disks {
		s.Head(fmt.Sprintf("disk %d  %s  %s", k.Index, widget.Bytes(k.Size), plaintext.Label(k.Label)))
		reader := plaintext.Label(k.Reader)
		if reader != "" && k.Allocated >= 0 {
			reader += ", the source calls " + widget.Bytes(k.Allocated) + " allocated"
		} else if reader != "" {
			reader += ", the source cannot tell what is allocated"
		}
		s.Row("reader", reader)
		if k.ToCopy > 0 || k.Acquired {
			s.Row("copied", p.move(k.Copied, k.ToCopy, k))
		}
		if k.Manifest != nil {
			s.Row("data", widget.Bytes(k.Manifest.Data)+" of data, "+widget.Bytes(k.Manifest.Zero)+" of zeros")
			s.Row("root", plaintext.Label(k.Manifest.Root))
		}
		s.Row("sha256", plaintext.Label(k.SHA256))
		if k.Proved {
			s.Row("proved", "the source was read again while off and was equal")
		}
		if a := k.Artifact; a != nil {
			s.Row("artifact", plaintext.Label(a.Format)+", "+widget.Bytes(a.Length)+made(a.Made))
			s.Row("sent", p.move(k.Sent, a.Length, k))
		}
		s.Row("volume", plaintext.Label(k.Volume+" "+k.VolumePhase))
		s.Row("delivered", p.delivered(k))
		p.rounds(s, st.Warm, k.Index)
	}
}

func made(by string) string {
	if by == "" {
		return ""
	}
	return ", made by " + plaintext.Label(by)
}

// delivered compares what was sent with what was prepared.
func (p *Page) delivered(k engine.Disk) string {
	switch {
	case k.Delivered == "":
		return ""
	case k.Artifact != nil && k.Delivered == k.Artifact.Digest:
		return p.th.Good.Render(p.th.Glyph.Done) + " what was prepared, by digest"
	}
	return p.th.Bad.Render(p.th.Glyph.Bad) + " " + plaintext.Label(k.Delivered) + ": not what was prepared"
}
