"""Loads scipy's statistics before the tests: the first example of one must not wait for it."""

import scipy.stats  # noqa: F401 - loaded for those that name it
