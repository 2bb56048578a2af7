"""megtrim release: build a release, prove it and verify it; and megtrim export."""
