"""The keep set: what scenarios and models need, so that a reduced build keeps it."""
