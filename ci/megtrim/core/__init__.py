"""The core: from a configuration to a verdict, and the report of it."""
