"""Where the history is kept: in a folder, or on a branch of a repository."""
