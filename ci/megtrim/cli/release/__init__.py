"""megtrim release: build a release and verify it."""
