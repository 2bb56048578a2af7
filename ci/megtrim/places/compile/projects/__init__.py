"""Builds the sources of any kind of engine, and links them again."""
