"""Takes single values out of answers whose shape is GitHub's promise and nobody's guarantee."""

from __future__ import annotations

from typing import Any

from megtrim.errors import InfrastructureFailure


def text_at(answer: Any, *keys: str) -> str:
    """Return the text that ``keys`` lead to; an answer without it is an InfrastructureFailure."""
    for key in keys:
        answer = answer.get(key) if isinstance(answer, dict) else None
    if not isinstance(answer, str) or not answer:
        msg = f"the answer holds no {'.'.join(keys)}"
        raise InfrastructureFailure(msg, hint="is GITHUB_API_URL right?")
    return answer
