"""Another present for megtrim: waivers lapse, proofs age."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

from megtrim.cli.environment import CLOCK


@contextmanager
def clock_at(time: str) -> Iterator[None]:
    """Let a day, or a time in UTC, be the present of every megtrim that is started meanwhile."""
    with patch.dict(os.environ, {CLOCK: time}):
        yield
