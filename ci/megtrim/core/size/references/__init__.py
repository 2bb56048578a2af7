"""Who refers to what in a linked file: why bytes are there, and what would go with them."""
