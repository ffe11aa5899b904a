package plaintext_test

import (
	"encoding/json"
	"testing"

	"landfall/engine/plaintext"
)

func TestJSON(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"as it is":            {"web-01 äöü 漢字 <&>", ""},
		"turned":              {"a\u202eb", `"a\u202eb"`},
		"one-byte CSI":        {"\u009b2J\x7f", `"\u009b2J\u007f"`},
		"beyond the plane":    {"a\U000e0041\U0001f1e9", `"a\udb40\udc41\ud83c\udde9"`},
		"joiner and mark":     {"e\u0301\u200d", `"e\u0301\u200d"`},
		"control and newline": {"\x1b\n", `"\u001b\n"`},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := json.Marshal(c.in)
			if err != nil {
				t.Fatal(err)
			}
			got := plaintext.JSON(b)
			if want := c.want; want != "" && string(got) != want || want == "" && string(got) != string(b) {
				t.Errorf("got %s, want %s", got, want)
			}
			var back string
			if err := json.Unmarshal(got, &back); err != nil || back != c.in {
				t.Errorf("means %q now: %v", back, err)
			}
		})
	}
}
