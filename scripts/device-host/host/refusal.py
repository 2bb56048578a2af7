"""The one shape of failure here: a message for a technician, and an exit status."""

from __future__ import annotations


class Refusal(Exception):
    """What stood in the way: 2 for usage, files and rights, 3 for this machine and its network."""

    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc
