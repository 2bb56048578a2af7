"""Builds by CMake and Ninja: configure, build, read their records."""
