"""What the stages share: the session, names of files, builds, runs, summaries."""
