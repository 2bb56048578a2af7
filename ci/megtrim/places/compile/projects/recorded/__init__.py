"""Builds by a project's own commands; wrappers of its compilers record how it links."""
