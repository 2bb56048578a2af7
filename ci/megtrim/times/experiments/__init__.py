"""The experiments: what each one needs, runs and makes."""
