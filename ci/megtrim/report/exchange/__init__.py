"""The verdict in the formats of other tools, which follow findings and figures from run to run."""
