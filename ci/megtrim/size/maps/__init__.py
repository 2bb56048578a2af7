"""Where the bytes of a file are, for pictures."""
