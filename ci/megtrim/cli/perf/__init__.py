"""megtrim perf: the experiments of performance."""
