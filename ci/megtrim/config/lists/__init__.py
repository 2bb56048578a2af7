"""Lists of megtrim.yaml in full: files as items, and a scenario for each number of threads."""
