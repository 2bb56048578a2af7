"""Releases: made from the results of a trim, written, proven, checked and built again."""
