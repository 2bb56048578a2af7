"""Hostile bytes for every reader of files that people and other machines give."""
