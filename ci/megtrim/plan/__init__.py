"""What would run and why, as values that can be printed. Pure: nothing here executes."""
