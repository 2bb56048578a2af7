"""What megtrim says to GitHub and asks of it: the REST API, the event, a runner's files."""
