"""The kinds of engine that can be trimmed: a file or a package for each, and what they share."""
