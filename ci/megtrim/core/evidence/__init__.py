"""Evidence: what devices elsewhere bring of a trim: traces, lists of functions and proofs."""
