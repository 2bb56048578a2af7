"""What scenarios use: instructions, counted for each function, and memory."""
