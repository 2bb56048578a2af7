"""The command line: parses, constructs the services, calls the stages, exits.

Only this room reads the environment and the clock, and only ``main`` exits.
"""
