"""Whether a work tree still matches its last finished build.

Running every build tool takes far longer than a link, so a finished build is recorded in the tree.
Only Ninja is run, without building: it also sees changes outside the tree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from megtrim.build.engines.cmake.driver import WorkTree
from megtrim.build_spec import BuildSpec, Toolchain
from megtrim.util.files import cannot_write, write_atomically
from megtrim.util.process import Command, ProcessRunner

_RECORD = "built.json"
_NOTHING_TO_DO = "ninja: no work to do."
_LOOK_TIMEOUT_S = 300.0


def token(spec: BuildSpec, toolchain: Toolchain, digests: Sequence[str]) -> str:
    """Return what identifies a finished build; ``digests`` are those of the sources."""
    identity = sorted(toolchain.identity().items())
    text = json.dumps([repr(spec), identity, list(digests)])
    return hashlib.sha256(text.encode()).hexdigest()


def forget(tree: WorkTree) -> None:
    """Delete the record, before anything in the tree changes."""
    try:
        (tree.root / _RECORD).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(tree.root / _RECORD, error) from None


def note(tree: WorkTree, finished: str) -> None:
    """Record that the build with this token is finished."""
    write_atomically(tree.root / _RECORD, json.dumps(finished))


def is_noted(tree: WorkTree, expected: str) -> bool:
    """Return whether the last finished build is the one with this token."""
    try:
        return (tree.root / _RECORD).read_text(encoding="utf-8") == json.dumps(expected)
    except (OSError, ValueError):
        return False


def holds(
    tree: WorkTree, expected: str, built: Mapping[Path, Sequence[str]], processes: ProcessRunner
) -> bool:
    """Return whether a build has nothing to do; ``built`` maps build folders to targets."""
    return is_noted(tree, expected) and all(
        _nothing_to_do(build, targets, processes) for build, targets in built.items()
    )


def _nothing_to_do(build: Path, targets: Sequence[str], processes: ProcessRunner) -> bool:
    """Return whether Ninja would rebuild none of ``targets``, without building."""
    argv = (processes.build_tool("ninja"), "-C", str(build), "-n", *targets)
    outcome = processes.run(Command(argv=argv, timeout_s=_LOOK_TIMEOUT_S))
    return outcome.ok and _NOTHING_TO_DO in outcome.stdout
