"""Performance: experiments, times of processes, how they are compared, and their history."""
