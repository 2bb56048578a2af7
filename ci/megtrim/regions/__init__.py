"""midout: traces, the keep set, and the generated header.

``region`` is the value that all modules share; ``trace`` and ``keepset`` are files of regions,
``header`` is generated from them, ``names`` decodes their numbers. Pure: no programs, no clock, no
environment.
"""
