"""MegEngine: its generations, options, flags, libraries, limits and quirks."""
