"""Finds the compilers on the machine that builds: one file per kind."""
