"""Driving act: two repositories, the double of GitHub beside them, and what a run left behind."""
