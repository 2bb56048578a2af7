"""ELF files, read and edited: sections, symbols, segments, objects, unwind tables."""
