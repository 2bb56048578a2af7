"""How an engine is compiled: engines, toolchains, images, sources."""
