"""One row of times for each scenario, and its checks."""
