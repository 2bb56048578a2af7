"""The JSON Schema of megtrim.yaml, as strict as the parser where a schema can be."""
