"""The verdict as GitLab reads it: findings in a merge request's diff, and metrics next to it."""
