"""The only exception here: a message for a technician, and an exit status."""

from __future__ import annotations


class Refusal(Exception):
    """A failure; ``rc`` is 2 for usage, files and rights, 3 for this machine and its network."""

    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc
