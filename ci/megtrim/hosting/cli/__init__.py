"""megtrim ci: what workflows call around a trim."""
