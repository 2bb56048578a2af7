"""Times as a configuration asks for them and a verdict holds them: values, no measuring."""
