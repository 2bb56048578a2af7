"""The command line: parses, constructs the services, calls the stages, exits."""
