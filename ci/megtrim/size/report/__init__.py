"""Why files grew, in the comment."""
