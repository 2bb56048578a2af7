"""Evidence that devices on other machines send back: traces, lists of functions and proofs."""
