"""What a linked file refers to: by its relocations, its machine code, its unwind entries."""
