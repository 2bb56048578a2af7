"""Releases as folders: made from the results of a trim, written, and checked."""
