"""YAML with line numbers: nodes, documents, messages."""
