"""The only module that starts programs: arguments in, exit status and text out, always bounded."""

from __future__ import annotations

import os
import shlex
import subprocess  # noqa: TID251 - megtrim.util.process is not there yet
from collections.abc import Mapping
from dataclasses import dataclass

from host.errors import Refusal

LOOK_S = 60.0
MAKE_S = 1800.0
"""Packages and libraries come over a network that may be slow."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended; one that does not exist has status 127, as in a shell."""

    rc: int
    stdout: str
    stderr: str


def look(*argv: str) -> Ended:
    """Run a program to get information; its failure is a result, too."""
    return _run(argv, env={}, timeout_s=LOOK_S)


def make(*argv: str, env: Mapping[str, str] | None = None) -> None:
    """Run a program to change something. Raises Refusal if it fails."""
    ended = _run(argv, env=env or {}, timeout_s=MAKE_S)
    if ended.rc != 0:
        output = (ended.stderr or ended.stdout).strip()[-2000:]
        msg = f"this ended with {ended.rc}: {shlex.join(argv)}\n{output}"
        raise Refusal(msg, rc=3)


def _run(argv: tuple[str, ...], *, env: Mapping[str, str], timeout_s: float) -> Ended:
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    try:
        done = subprocess.run(
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
    except FileNotFoundError:
        return Ended(127, "", f"there is no program {argv[0]}")
    except subprocess.TimeoutExpired:
        return Ended(124, "", f"no end within {timeout_s:.0f} s")
    return Ended(done.returncode, done.stdout, done.stderr)


_PASSED = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy")
"""Variables that apt and pip need behind a proxy; the rest of the environment is dropped."""
