"""What is made in which order and where it is stored: graph, session, store."""
