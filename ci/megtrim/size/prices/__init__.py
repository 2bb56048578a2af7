"""What a model, a region or a function costs in bytes: attributed, and as it was built without."""
