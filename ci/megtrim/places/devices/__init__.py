"""Where programs run: one file per kind."""
