"""Counted work: the instructions of an iteration, by function."""
