"""The data types for times: what a configuration can ask for, and what a verdict contains.

Nothing is measured here.
"""
