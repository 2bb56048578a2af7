"""Talking to GitHub: the REST API, the event, a runner's files."""
