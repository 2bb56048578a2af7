"""Performance: the experiments, and what each one needs, runs and makes."""
