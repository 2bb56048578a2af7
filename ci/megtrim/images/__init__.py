"""Docker images: running programs inside them, building them, and pinning them."""
