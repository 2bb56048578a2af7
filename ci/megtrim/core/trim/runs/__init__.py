"""Running scenarios: tracing, verification, coverage, trap diagnosis, neighbours."""
