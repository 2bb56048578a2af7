"""Where the history of times is kept: in a folder, or on a branch of a repository."""
