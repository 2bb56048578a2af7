"""What readers of model files share; operator JSON; what a model needs, by its file and JSON."""
