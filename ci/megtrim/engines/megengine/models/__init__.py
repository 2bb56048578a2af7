"""Model files of MegEngine: its own formats, and the operators that they name."""
