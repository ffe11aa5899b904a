package transfer

// blockFile keeps the blocks of an image's chunks in a file beside it, so that a change in one block needs no other. It
// only spares reading: what it gives is believed only where it adds up to the digest in the ledger, so that it is never
// synced, may be of another time, and may as well not be there.
type blockFile struct{ file File }

// blocksOf is what the file beside an image is called.
func blocksOf(path string) string { return path + ".blocks" }

const blocksSize = int64(len(blocks{}) * len(Sum{})) // of one chunk, in the file

func openBlocks(files Files, path string) blockFile {
	f, err := files.Open(blocksOf(path), true)
	if err != nil {
		return blockFile{}
	}
	return blockFile{f}
}

// load gives the blocks of chunk i, of n bytes, if they are known to be those that want is of.
func (f blockFile) load(i int64, n int, want Sum) (b blocks, ok bool) {
	if f.file == nil {
		return b, false
	}
	var p [blocksSize]byte
	if k, _ := f.file.ReadAt(p[:], i*blocksSize); k < len(p) {
		return b, false
	}
	for k := range b {
		b[k] = Sum(p[k*len(Sum{}):])
	}
	return b, b.sum(n) == want
}

func (f blockFile) save(i int64, b *blocks) {
	if f.file == nil {
		return
	}
	var p [blocksSize]byte
	for k := range b {
		copy(p[k*len(Sum{}):], b[k][:])
	}
	_, _ = f.file.WriteAt(p[:], i*blocksSize) // what is torn does not add up
}

func (f blockFile) close() {
	if f.file != nil {
		_ = f.file.Close() // nothing in it is owed
	}
}
