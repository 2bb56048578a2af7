"""What readers of model files share, the operator JSON, and what a model needs by both."""
