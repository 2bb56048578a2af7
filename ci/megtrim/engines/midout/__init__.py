"""midout: traces, the keep set, and the generated header."""
