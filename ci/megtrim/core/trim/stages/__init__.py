"""The stages of a trim: each reads former results from the store and leaves its own there."""
