"""Values of times, as a configuration asks for them and a verdict has them. It measures nothing."""
