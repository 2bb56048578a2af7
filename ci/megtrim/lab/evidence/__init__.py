"""What device jobs get, and which times of theirs count: bundles, and records of contests."""
