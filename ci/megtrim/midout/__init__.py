"""midout: what a trace says, what is kept for whom, and the header that a build is given.

``region`` is the word of this room; ``trace`` and ``keepset`` are the files that hold regions,
``header`` is made from them, ``names`` gives their numbers a meaning. Pure: no programs, no
clock, no environment.
"""
