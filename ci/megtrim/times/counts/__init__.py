"""What scenarios use: instructions by function, which are counted, and memory."""
