"""Forty nights of one scenario, which is slower by a tenth from the 21st on."""

import numpy as np

from support.history_entries import make_row, make_run

_NOISE = 0.005 * np.random.default_rng(5).standard_normal(40)
RUNS = tuple(
    make_run(night, [make_row(40 * (1 + _NOISE[night] + 0.1 * (night >= 20)))])
    for night in range(40)
)
