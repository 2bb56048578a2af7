"""``megtrim ci github``: commands for jobs of GitHub Actions."""
