"""Prices of what a trim keeps: attributed from its links, and by building without a thing."""
