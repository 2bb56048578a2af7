"""Sizes of binaries: budgets, and the baseline that growth is measured against."""
