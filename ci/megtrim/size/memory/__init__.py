"""The memory that scenarios use."""
