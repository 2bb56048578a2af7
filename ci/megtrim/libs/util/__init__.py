"""What every room may use: errors, processes, files, console."""
