"""Loads scipy's statistics before the tests: the first example of one must not wait for it."""

from __future__ import annotations

import scipy.stats  # noqa: F401 - loaded for those that name it
