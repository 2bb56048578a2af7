"""Engines that can be trimmed: one file per kind."""
