"""Markup and pictures."""
