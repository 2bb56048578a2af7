"""What a check is, how it may end, and what to do next."""
