package secgroup

// Needs is what a port needs of a filter before it is wired, for the feature that reports ports.
type Needs struct {
	// Docs are the documents, of EntityL2's owners, whose objects must be there.
	Docs []string
	// Lacks is what has not come yet, in a sentence.
	Lacks string
	// Broken is why the port cannot be filtered.
	Broken error
	// Note is what somebody should know who asks why packets do not come, although the port is wired.
	Note string
}
