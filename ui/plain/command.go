package plain

import (
	"fmt"
	"strings"

	"landfall/engine"
	"landfall/engine/plaintext"
	"landfall/ui/dialog"
)

const help = `list          every migration that goes on
ask           the decisions that wait, once more
N M           answer decision N with its option M
start         start the engine, where none runs
quit          leave; the engine goes on`

// command does what was typed.
func (s *session) command(line string) {
	line = strings.TrimSpace(line)
	if s.confirm != nil {
		s.confirmed(line)
		return
	}
	switch line {
	case "":
	case "help", "?", "h":
		s.say("%s", help)
	case "quit", "q", "exit":
		s.quit = s.snap != nil
		if s.snap == nil {
			s.say("still reading the workspace")
		}
	case "list":
		s.list()
	case "ask":
		s.again()
	case "start":
		s.start()
	default:
		s.answer(line)
	}
}

func (s *session) list() {
	n := 0
	if s.snap != nil {
		for i := len(s.snap.Lines) - 1; i >= 0; i-- {
			if l := s.snap.Lines[i]; !l.Phase.Terminal() {
				s.line(l)
				n++
			}
		}
	}
	if n == 0 {
		s.say("no migration goes on")
	}
}

func (s *session) again() {
	n := 0
	if s.snap != nil {
		for _, d := range s.snap.Waiting {
			s.ask(s.numbers[d.ID])
			n++
		}
	}
	if n == 0 {
		s.say("no decision waits")
	}
}

// answer takes two numbers. What cannot be undone needs the VM's name on a line of its own.
func (s *session) answer(line string) {
	var number, option int
	if n, err := fmt.Sscanf(line+"\n", "%d %d\n", &number, &option); err != nil || n != 2 {
		s.say("not understood: %s (help tells the commands)", plaintext.Label(line))
		return
	}
	if s.cfg.ReadOnly {
		s.say("this console is read-only")
		return
	}
	if number < 1 || number > len(s.asked) || s.numbers[s.asked[number-1].ID] != number {
		s.say("there is no decision %d", number)
		return
	}
	d := s.asked[number-1]
	if option < 1 || option > len(d.Options) {
		s.say("decision %d has options 1 to %d", number, len(d.Options))
		return
	}
	o := d.Options[option-1]
	if !o.Dangerous {
		s.give(number, o)
		return
	}
	l, ok := s.snap.Line(d.Migration)
	if !ok {
		l = engine.Line{UID: d.Migration}
	}
	word, why := dialog.Typeable(l)
	s.confirm = &confirm{number: number, option: o, word: word}
	s.say("This cannot be undone. %s", plaintext.Label(o.Effect))
	s.say("Type %s (%s) to do it; anything else goes back.", word, why)
}

func (s *session) confirmed(line string) {
	c := s.confirm
	s.confirm = nil
	if line != c.word {
		s.say("not done")
		return
	}
	s.give(c.number, c.option)
}
