"""What `megtrim init` writes: a configuration, and the callers of workflows."""
