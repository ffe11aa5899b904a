package uitest

import "testing"

func TestScrollRegionBeyondTheScreen(t *testing.T) {
	s := newScreen(80, 24)
	if _, err := s.Write([]byte("\x1b[12;40r\x1b[12;1H\x1bM\x1b[1;24r\x1bMtop")); err != nil {
		t.Fatal(err)
	}
	if c := s.CellAt(0, 0); c == nil || c.Content != "t" {
		t.Errorf("the screen begins with %+v", c)
	}
}
