"""Verbs of releases."""
