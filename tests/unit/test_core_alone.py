"""Which tests and lines a tree without the parts has."""
