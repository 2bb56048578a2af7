"""Faults injected between a real adb and a real adbd, and a judge of what was made of them.

    python -m faults --help        with tests/ in PYTHONPATH; in full: nox -s faults

``matrix`` says what is tried, ``world`` makes phones, ``trial`` puts one case through the
product's own path, ``judge`` holds what came out against what the programs really did.
"""
