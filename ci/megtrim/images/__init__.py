"""Docker images: what they hold, programs that run inside, and how they are built and pinned."""
