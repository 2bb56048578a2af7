"""megtrim stage: single stages, and the chain up to one."""
