"""The baselines that runs stored: of one change, and for the history."""
