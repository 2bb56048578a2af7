"""Nightly runs: series, change points, issues."""
