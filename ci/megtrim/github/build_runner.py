"""The runner that a workflow's input asks for: a label, or a JSON list of labels. Pure.

Part of the github room. GitHub chooses the runner before a step of ours could object; what it was
asked for is checked where the verdict is made, which is always on GitHub's own machine.
"""

from __future__ import annotations

import json
import re
from typing import Any

from megtrim.util.errors import InputError

HOSTED = "ubuntu-24.04"
"""What builds unless the workflow says otherwise, and always for a fork."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MOST_LABELS = 20


def parse_build_runner(text: str) -> tuple[str, ...]:
    """Return the labels. Raises InputError."""
    labels: list[Any] = [text]
    if text.startswith("["):
        try:
            labels = json.loads(text)
        except (ValueError, RecursionError):
            raise _make_error(text) from None
    plain = all(isinstance(each, str) and _LABEL.fullmatch(each) for each in labels)
    if not plain or not 0 < len(labels) <= _MOST_LABELS:
        raise _make_error(text)
    return tuple(labels)


def describe_fork(text: str) -> str:
    """Return a line for the verdict of a fork's change; empty if it got the runner of the team."""
    labels = parse_build_runner(text)
    if labels == (HOSTED,):
        return ""
    return (
        f"built on {HOSTED}, not on {', '.join(labels)}: "
        "a pull request from a fork gets no other runner"
    )


def _make_error(text: str) -> InputError:
    msg = f"the input build-runner: found {text[:80]!r}, expected a label or a JSON list of labels"
    return InputError(msg, hint='such as linux-16, or ["self-hosted", "builder"]')
