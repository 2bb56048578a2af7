"""Repeats a target's link, as read from the build, with changes."""
