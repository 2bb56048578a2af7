"""What a proof is bound to: the inputs of its task, whichever device ran it."""

import hashlib
import json
from collections.abc import Mapping

DEVICE_LABEL = "device "
"""Prefix of the names of a task's inputs that say which device runs it."""


def binding(inputs: Mapping[str, str]) -> str:
    """Return the sha256 over a task's inputs but those that say which device ran it."""
    return hashlib.sha256(json.dumps(sorted(deviceless(inputs).items())).encode()).hexdigest()


def deviceless(inputs: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in inputs.items() if not name.startswith(DEVICE_LABEL)}
