"""How an engine is compiled: projects, toolchains, images, sources."""
