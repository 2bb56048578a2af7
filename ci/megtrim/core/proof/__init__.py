"""Scenarios run on the trimmed program, and what it means when one fails."""
