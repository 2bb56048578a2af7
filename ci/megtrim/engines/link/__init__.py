"""A target's link, read from the build and done again."""
