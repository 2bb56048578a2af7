"""Scenarios near those that are kept: how many still work."""
