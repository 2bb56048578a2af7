"""What a command that trims holds sizes against."""
