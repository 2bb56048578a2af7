"""Crashes in the field: their reports, read, and looked up in what a trim left out."""
