"""Device jobs for other machines: packed here, done there with only megtrim installed."""
