"""Finds compilers on the host where programs run: one file per kind."""
