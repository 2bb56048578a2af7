"""A stand-in for the engine's Python package, which cannot be had: NOT the engine.

It has what a dump is asked through (``jit.trace(...).dump``) and writes a model that the real
engine once dumped, named by the variable STANDIN_MODEL. STANDIN_FAULT makes it go wrong.
"""

__version__ = "1.13.0-standin"
