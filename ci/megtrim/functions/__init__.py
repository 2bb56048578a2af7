"""Functions: which ones a linked file contains, which of them ran, and what a relink leaves out.

``qemu_log`` and ``probes`` read which functions ran, ``function_list`` is the file that lists them;
``keep_patterns`` adds what must always stay, ``linker_script`` writes the linker's input, and
``link_proof`` compares the links before and after. Pure: no programs, no clock, no environment.
"""
