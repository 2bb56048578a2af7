"""megtrim perf: list experiments; compare, keep and export times."""
