"""``megtrim perf``: compare, keep and export times."""
