"""Nightly runs: series, changes, issues."""
