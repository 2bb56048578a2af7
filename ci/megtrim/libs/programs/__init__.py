"""Programs that run: how they end, and what they write."""
