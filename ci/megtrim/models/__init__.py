"""What a model holds: the engine's own files, the operator JSON, and what follows from both."""
