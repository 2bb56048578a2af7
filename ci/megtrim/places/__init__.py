"""Places where builds and programs run, a file for each kind."""
