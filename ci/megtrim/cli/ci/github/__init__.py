"""``megtrim github``: commands for jobs of GitHub Actions."""
