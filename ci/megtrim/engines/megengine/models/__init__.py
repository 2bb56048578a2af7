"""Model files: the engine's own formats, the operator JSON, and what a model needs by both."""
