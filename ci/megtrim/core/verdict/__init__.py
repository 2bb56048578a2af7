"""The one verdict of a trim: what was checked, what was seen, and what it adds up to."""
