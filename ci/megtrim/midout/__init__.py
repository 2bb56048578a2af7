"""midout: traces of what ran, the keep set they add up to, and the header it is compiled in by."""
