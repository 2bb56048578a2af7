"""Releases as values: what one holds and can run, and the documents that say so. Pure."""
