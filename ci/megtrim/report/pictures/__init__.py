"""The pictures of sizes as numbers: where bytes are, what each step won, and the trend."""
