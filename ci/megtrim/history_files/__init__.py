"""What the files of a history have in common, whatever it is a history of."""
