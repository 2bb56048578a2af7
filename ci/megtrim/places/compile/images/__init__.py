"""Docker images: running programs inside them, building them, and keeping them between jobs."""
