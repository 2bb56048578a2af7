"""megtrim.yaml: from bytes to a checked value; every key has a line, errors come together."""
