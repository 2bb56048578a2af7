"""The only module that starts programs: arguments in, exit status and text out, always bounded."""

from __future__ import annotations

import os
import shlex
import subprocess  # noqa: TID251 - megtrim.util.process is not there yet
from collections.abc import Mapping

_LOOK_S = 60.0
_MAKE_S = 1800.0
"""Packages and libraries come over a network that may be slow."""
_PASSED = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy")
"""Variables that apt and pip need behind a proxy; the rest of the environment is dropped."""


class Refusal(Exception):
    """A failure; ``rc`` is 2 for usage, files and rights, 3 for this machine and its network."""

    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc


def look(*argv: str) -> tuple[int, str]:
    """Return exit status (127: there is none) and output."""
    try:
        done = _run(argv, {}, _LOOK_S)
    except Refusal as refusal:
        return 127, str(refusal)
    return done.returncode, done.stdout


def make(*argv: str, env: Mapping[str, str] | None = None) -> None:
    done = _run(argv, env or {}, _MAKE_S)
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip()[-2000:]
        msg = f"this ended with {done.returncode}: {shlex.join(argv)}\n{output}"
        raise Refusal(msg, rc=3)


def _run(
    argv: tuple[str, ...], env: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    try:
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**base, **passed, **env},
            timeout=timeout_s,
            umask=0o022,  # what root installs here, the jobs' user has to read
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        msg = f"{shlex.join(argv)}: {error}"
        raise Refusal(msg, rc=3) from None
