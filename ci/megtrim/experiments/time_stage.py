"""What a time is of. Pure."""

from __future__ import annotations

from enum import StrEnum


class TimeStage(StrEnum):
    """The stages of a run that are timed, in its order."""

    PREPARE = "prepare"
    """From the loaded model to the first run (配置)."""
    WARM_UP = "warm-up"
    """The first run that does not count (预热)."""
    SECOND_WARM_UP = "second-warm-up"
    """The first that computes, where the first warm-up of all is a fake one."""
    INFERENCE = "inference"
    """One iteration (推理)."""
