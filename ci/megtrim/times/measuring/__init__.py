"""Contests of two programs: planned, run, read."""
