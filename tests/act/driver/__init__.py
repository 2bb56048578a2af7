"""Driving act: two repositories, the double of GitHub next to them, and what a run left behind."""
