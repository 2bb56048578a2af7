"""Times in the report: tables as in the engine's own pages, pictures, properties of tests."""
