"""Where a repository is hosted: its workflows, comments and artifacts."""
