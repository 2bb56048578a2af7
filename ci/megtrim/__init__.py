"""megtrim trims MegEngine to what a team's models execute, and proves the result."""
