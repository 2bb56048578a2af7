"""The engines that can be trimmed."""
