"""Image names that always mean the same image: by digest, or by ID."""

from __future__ import annotations

import re

from megtrim.util.errors import InputError

_FIXED = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._/:-]{0,400}@)?sha256:[0-9a-f]{64}")


def is_fixed(reference: str) -> bool:
    """Return whether it is NAME@sha256:DIGEST, or the ID of an image."""
    return _FIXED.fullmatch(reference) is not None


def expect_fixed(reference: str, *, source: str) -> None:
    """Raise InputError for a tag, which may become another image without any commit."""
    if not is_fixed(reference):
        msg = f"{source}: found {reference[:120]!r}, expected NAME@sha256:DIGEST in a job of CI"
        raise InputError(
            msg, hint="`docker image inspect --format '{{.RepoDigests}}' NAME` prints it"
        )
