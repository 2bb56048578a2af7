"""What stands in a record of deferred functions besides the lines of the programs. Pure."""

RUN_MARK = "run: "
"""Begins the line that names what was run; whoever starts a program writes it before it runs."""
MAX_RUN_CHARACTERS = 2000
