"""Racing for the fastest flags: who takes part with which files, and the race on a machine."""
