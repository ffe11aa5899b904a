package vsphere

import (
	"strings"
	"testing"

	"landfall/engine/fault"
)

const head = "# Disk DescriptorFile\nversion=1\nencoding=\"UTF-8\"\nCID=fffffffe\nparentCID=ffffffff\ncreateType=\"vmfs\"\n\n# Extent description\n"

func TestDescriptor(t *testing.T) {
	for _, c := range []struct {
		name    string
		text    string
		file    string
		sectors int64
	}{
		{"plain", head + "RW 41943040 VMFS \"web-flat.vmdk\"\n\n# The Disk Data Base \n#DDB\nddb.adapterType = \"lsilogic\"\n", "web-flat.vmdk", 41943040},
		{"line ends of Windows", strings.ReplaceAll(head+"RW 1 VMFS \"web-flat.vmdk\"\n", "\n", "\r\n"), "web-flat.vmdk", 1},
		{"name with spaces and quotes", head + `RW 8 VMFS "my "big" disk-flat.vmdk"`, `my "big" disk-flat.vmdk`, 8},
		{"name that does not derive from the disk's", head + `RW 8 VMFS "x + y [1] 100%.dat"`, "x + y [1] 100%.dat", 8},
		{"name in another script", head + `RW 8 VMFS "база-flat.vmdk"`, "база-flat.vmdk", 8},
		{"name in an old encoding", strings.Replace(head, "UTF-8", "windows-1252", 1) + "RW 8 VMFS \"b\xfcro-flat.vmdk\"", "büro-flat.vmdk", 8},
		{"start of the file given", head + `RW 8 VMFS "a-flat.vmdk" 0`, "a-flat.vmdk", 8},
		{"spaces around keys", "# Disk DescriptorFile\nparentCID = ffffffff\ncreateType = \"vmfs\"\nRW  8  VMFS  \"a-flat.vmdk\"\n", "a-flat.vmdk", 8},
		{"keys and words in other cases", "# disk descriptorfile\nPARENTCID=FFFFFFFF\nCreateType=\"VMFS\"\nrw 8 vmfs \"A-flat.vmdk\"\n", "A-flat.vmdk", 8},
		{"tabs", head + "RW\t8\tVMFS\t\"a-flat.vmdk\"", "a-flat.vmdk", 8},
		{"mark of UTF-8 before it", "\xef\xbb\xbf" + head + `RW 8 VMFS "a-flat.vmdk"`, "a-flat.vmdk", 8},
		{"change tracking file", head + "RW 8 VMFS \"a-flat.vmdk\"\n\n# Change Tracking File\nchangeTrackPath=\"a-ctk.vmdk\"\n", "a-flat.vmdk", 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseDescriptor([]byte(c.text))
			if err != nil {
				t.Fatal(err)
			}
			e, err := d.flat()
			if err != nil {
				t.Fatal(err)
			}
			if e.file != c.file || e.sectors != c.sectors {
				t.Errorf("got %q with %d sectors, want %q with %d", e.file, e.sectors, c.file, c.sectors)
			}
		})
	}
}

func TestDescriptorRefused(t *testing.T) {
	delta := strings.Replace(head, "parentCID=ffffffff", "parentCID=12345678", 1)
	of := func(kind string) string { return strings.Replace(head, `"vmfs"`, `"`+kind+`"`, 1) }
	for _, c := range []struct {
		name   string
		text   string
		reason string
		says   string
	}{
		{"snapshot", delta + `RW 8 VMFSSPARSE "a-000001-delta.vmdk"`, fault.Unsupported, "delta"},
		{"chain of space-efficient sparse", of("seSparse") + `RW 8 SESPARSE "a-sesparse.vmdk"`, fault.Unsupported, "seSparse"},
		{"raw device, physical", of("vmfsPassthroughRawDeviceMap") + `RW 8 VMFSRDM "a-rdmp.vmdk"`, fault.Unsupported, "vmfsPassthroughRawDeviceMap"},
		{"raw device, virtual", of("vmfsRawDeviceMap") + `RW 8 VMFSRDM "a-rdm.vmdk"`, fault.Unsupported, "vmfsRawDeviceMap"},
		{"split and sparse", of("twoGbMaxExtentSparse") + "RW 4 SPARSE \"a-s001.vmdk\"\nRW 4 SPARSE \"a-s002.vmdk\"", fault.Unsupported, "2 files (twoGbMaxExtentSparse)"},
		{"raw device, by its extent alone", head + `RW 8 VMFSRDM "a-rdm.vmdk"`, fault.Unsupported, "raw device"},
		{"sparse disk in one file, by its text", of("monolithicSparse") + `RW 8 SPARSE "a.vmdk"`, fault.Unsupported, "monolithicSparse"},
		{"flat disk of a workstation", of("monolithicFlat") + `RW 8 FLAT "a-flat.vmdk" 0`, fault.Unsupported, "monolithicFlat"},
		{"stream-optimised, by its text", of("streamOptimized") + `RDONLY 8 SPARSE "a.vmdk"`, fault.Unsupported, "streamOptimized"},
		{"kind that nobody knows", of("holographic") + `RW 8 CRYSTAL "a.vmdk"`, fault.Unsupported, "CRYSTAL (holographic)"},
		{"zeros without a file", head + `RW 8 ZERO`, fault.Unsupported, "ZERO"},
		{"chain of space-efficient sparse on a parent", strings.Replace(of("seSparse"), "parentCID=ffffffff", "parentCID=1234abcd\nparentFileNameHint=\"a.vmdk\"", 1) + `RW 8 SESPARSE "a-sesparse.vmdk"`, fault.Unsupported, "delta on another disk (seSparse)"},
		{"space-efficient sparse extent", "\xbe\xba\xfe\xca\x00\x00", fault.Unsupported, "seSparse"},
		{"virtual volume", head + `RW 8 VMFS "vvol://naa.600"`, fault.Unsupported, "vvol://naa.600"},
		{"UTF-16", "\xff\xfe#\x00 \x00D\x00", fault.Unsupported, "binary"},
		{"sectors below zero", head + `RW -8 VMFS "a-flat.vmdk"`, fault.Damaged, `"-8"`},
		{"split and flat", head + "RW 4 VMFS \"a-f001.vmdk\"\nRW 4 VMFS \"a-f002.vmdk\"", fault.Unsupported, "2 files"},
		{"vSAN object", head + `RW 8 VMFS "vsan://52ab-cd"`, fault.Unsupported, "vsan://52ab-cd"},
		{"file elsewhere", head + `RW 8 VMFS "/vmfs/volumes/other/a-flat.vmdk"`, fault.Unsupported, "not a file beside it"},
		{"way out", head + `RW 8 VMFS ".."`, fault.Unsupported, "not a file beside it"},
		{"read only", head + `RDONLY 8 VMFS "a-flat.vmdk"`, fault.Unsupported, "RDONLY"},
		{"start inside the file", head + `RW 8 VMFS "a-flat.vmdk" 128`, fault.Unsupported, "128"},
		{"sparse disk in one file", "KDMV\x01\x00\x00\x00" + strings.Repeat("\x00", 504), fault.Unsupported, "monolithicSparse"},
		{"old sparse extent", "COWD\x01\x00\x00\x00", fault.Unsupported, "vmfsSparse"},
		{"flat extent itself", strings.Repeat("\x00", 512), fault.Unsupported, "binary"},
		{"some other text", "<html>login</html>", fault.Unsupported, "not a descriptor"},
		{"far too long", head + strings.Repeat("#\n", descriptorLimit), fault.Unsupported, "larger than any descriptor"},
		{"empty", "", fault.Unsupported, "empty"},
		{"no extent", head, fault.Damaged, "no extent"},
		{"sectors that are none", head + `RW many VMFS "a-flat.vmdk"`, fault.Damaged, `"many"`},
		{"sectors that overflow", head + `RW 9223372036854775807 VMFS "a-flat.vmdk"`, fault.Damaged, "9223372036854775807"},
		{"name without quotes", head + `RW 8 VMFS a-flat.vmdk`, fault.Damaged, "names no file"},
		{"name not in its encoding", head + "RW 8 VMFS \"b\xfcro-flat.vmdk\"", fault.Damaged, "encoding"},
		{"encoding that nobody knows", strings.Replace(head, "UTF-8", "ebcdic-of-mars", 1) + "RW 8 VMFS \"b\xfc.vmdk\"", fault.Unsupported, "ebcdic-of-mars"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, err := parseDescriptor([]byte(c.text))
			if err == nil {
				_, err = d.flat()
			}
			if fault.ReasonOf(err) != c.reason || fault.ClassOf(err) != fault.Blocked || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v [%s %s], want %s that says %q", err, fault.ClassOf(err), fault.ReasonOf(err), c.reason, c.says)
			}
		})
	}
}

func FuzzDescriptor(f *testing.F) {
	f.Add([]byte(head + `RW 8 VMFS "a-flat.vmdk" 0`))
	f.Add([]byte(strings.Replace(head, "UTF-8", "Shift_JIS", 1) + "RW 8 VMFS \"\x83\x65-flat.vmdk\""))
	f.Add([]byte("KDMV\x01"))
	f.Add([]byte("RW 1 VMFS \"\"\ncreateType=\"vmfs\""))
	f.Add([]byte("\xef\xbb\xbf# disk descriptorfile\nRW\t8\tVMFS\t\"..\"\n"))
	f.Add([]byte(head + "RW 9007199254740993 VMFS \"a/../../b\""))
	f.Add([]byte(head + "RW 8 VMFS \"a\x00b\""))
	f.Add([]byte(strings.Replace(head, "UTF-8", "UTF-16LE", 1) + "RW 8 VMFS \"\xd8\x00/\""))
	f.Add([]byte(strings.Repeat("RW 1 VMFS \"x\"\n", 4000)))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := parseDescriptor(b)
		if err != nil {
			if fault.ClassOf(err) != fault.Blocked {
				t.Fatalf("unclassed: %v", err)
			}
			return
		}
		e, err := d.flat()
		if err != nil {
			return
		}
		if e.sectors < 0 || e.sectors*512 < 0 {
			t.Fatalf("%d sectors", e.sectors)
		}
		// Whatever it names must be a file beside the descriptor.
		at := filePath{"ds", "dir/x.vmdk"}.beside(e.file)
		if !strings.HasPrefix(at.name, "dir/") || strings.Count(at.name, "/") != 1 {
			t.Fatalf("%q leads to %s", e.file, at)
		}
	})
}
