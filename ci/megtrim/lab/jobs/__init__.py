"""Device jobs for other machines: packed here, done there with megtrim alone."""
