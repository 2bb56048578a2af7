"""Which versions of the kit there are: the tags of its repository, and the commit of each.

A person's own command asks, so git uses that person's settings and keys: the kit may be private.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from megtrim.build.sources.git import REFUSALS
from megtrim.util.errors import InfrastructureFailure, InputError
from megtrim.util.process import Command, ProcessRunner

_TAG = re.compile(r"([0-9a-f]{40})\trefs/tags/(v[0-9]+\.[0-9]+\.[0-9]+)(\^\{\})?")
_TIMEOUT_S = 60.0
_ENV = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
_MOST_NAMED = 5


def list_versions(url: str, processes: ProcessRunner) -> dict[str, str]:
    """Return the commit of each tag ``vX.Y.Z``, the newest version first.

    Raises InputError if there is no such repository for this person, else InfrastructureFailure.
    """
    argv = ("git", "ls-remote", "--tags", "--", url, "refs/tags/v*")
    answer = processes.run(Command(argv=argv, timeout_s=_TIMEOUT_S, env=_ENV))
    if not answer.ok:
        raise _make_failure(url, answer.stderr, timed_out=answer.timed_out)
    found: dict[str, str] = {}
    for line in answer.stdout.splitlines():
        match = _TAG.fullmatch(line)
        # The tag's own object comes first where it has a text; the commit is what it leads to.
        if match and (match[3] or match[2] not in found):
            found[match[2]] = match[1]
    return {version: found[version] for version in sorted(found, key=_order, reverse=True)}


def expect_version(repository: str, version: str, sha: str, known: Mapping[str, str]) -> None:
    """Raise InputError unless the kit has ``version``, and it is the commit ``sha``."""
    if version not in known:
        msg = f"--kit-version: {repository} has no tag {version}"
        newest = ", ".join([*known][:_MOST_NAMED])
        hint = f"its newest: {newest}" if newest else "it has no tag vX.Y.Z: is it the kit?"
        raise InputError(msg, hint=hint)
    if known[version] != sha:
        msg = f"--kit-sha: found {sha}, expected {known[version]}, the commit of {version}"
        raise InputError(
            msg, hint="which of the two did you review? Name that one's tag and commit"
        )


def _order(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.removeprefix("v").split("."))


def _make_failure(url: str, said: str, *, timed_out: bool) -> InputError | InfrastructureFailure:
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    refused = [line for line in lines if any(word in line for word in REFUSALS)]
    reason = "no answer in time" if timed_out else (refused or lines or ["no message"])[0]
    msg = f"the versions of the kit cannot be read from {url}: {reason[:300]}"
    if refused and not timed_out:
        return InputError(msg, hint="is --kit right? A private kit needs git to have its key")
    return InfrastructureFailure(msg, hint="is it reachable from this machine? then run this again")
