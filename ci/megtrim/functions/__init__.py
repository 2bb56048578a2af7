"""Functions: which a linked file holds, which of them ran, and what a relink leaves out.

``qemu_log`` reads a log of what ran, ``function_list`` is the file that says it;
``keep_patterns`` adds what must stay whatever ran, ``linker_script`` writes what the linker is
given, and ``link_proof`` compares the link before with the one after. Pure: no programs, no
clock, no environment.
"""
