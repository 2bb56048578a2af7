"""What every package may use: errors, processes, files, console."""
