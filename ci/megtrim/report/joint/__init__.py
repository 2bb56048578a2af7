"""Several configurations in one report: a row for each, on a terminal and in a comment."""
