"""Performance: experiments, times of processes, how they are compared, and their history.

Pure: nothing here starts a program or reads a clock.
"""
