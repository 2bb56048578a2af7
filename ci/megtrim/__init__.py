"""megtrim trims MegEngine to what a team's models execute, and proves the result."""

from megtrim.former_names import serve

serve()
