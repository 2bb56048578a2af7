"""Functions: which a linked file holds, which of them ran, and what a relink leaves out.

``table`` reads a linked file, ``blocks`` a log of what ran, ``listing`` is the file that says
it; ``keep`` adds what must stay whatever ran, ``stubs`` writes what the linker is given, and
``proof`` compares the link before with the one after. Pure: no programs, no clock, no
environment.
"""
