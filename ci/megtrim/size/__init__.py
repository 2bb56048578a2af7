"""Bytes of a binary by what they are for, and the budgets they are held to."""
