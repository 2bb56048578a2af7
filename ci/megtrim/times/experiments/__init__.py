"""Experiments: which can run here, their commands, their contests, and lists of them."""
