"""Functions: which ones a linked file contains, which of them ran, and what a relink leaves out."""
