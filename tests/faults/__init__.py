"""Faults injected between a real adb and a real adbd, and a judge of what was made of them.

    python -m faults --help        with tests/ in PYTHONPATH; in full: nox -s faults

``matrix`` says what is tried and judges what came out, ``world`` makes phones and programs,
``suite`` puts cases through the product's own path.
"""
