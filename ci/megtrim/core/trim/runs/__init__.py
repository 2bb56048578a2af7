"""Running scenarios and tests: traced, recorded, and so that programs print their errors."""
