"""The engine's submodules: which ones a build needs, where they may come from, and their fetch."""
