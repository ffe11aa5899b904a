package kubevirt

const mib = 1 << 20

// defaultOverhead is CDI's own, taken where its configuration may not be read.
const defaultOverhead = 0.06
