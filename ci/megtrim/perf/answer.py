"""What is known of a change: an answer that may be open. Pure."""

from __future__ import annotations

from enum import StrEnum


class Answer(StrEnum):
    """An answer with its third possibility."""

    YES = "yes"
    NO = "no"
    INCONCLUSIVE = "inconclusive"
