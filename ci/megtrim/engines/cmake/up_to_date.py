"""Whether a work tree still is what its last finished build made of it.

Asking every build tool takes far longer than a link, so what was built is noted in the tree.
Ninja alone is asked, without building, for it also sees what lies outside of the tree.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from megtrim.build_spec import BuildSpec, Toolchain
from megtrim.engines.cmake.driver import WorkTree
from megtrim.process import Command, ProcessRunner
from megtrim.store import cannot_write, write_atomically

_RECORD = "built.json"
_NOTHING_TO_DO = "ninja: no work to do."
_LOOK_TIMEOUT_S = 300.0


def token(spec: BuildSpec, toolchain: Toolchain, digests: Sequence[str]) -> str:
    """Return what a finished build is known by; ``digests`` are those of the sources."""
    identity = sorted(toolchain.identity().items())
    text = json.dumps([repr(spec), identity, list(digests)])
    return hashlib.sha256(text.encode()).hexdigest()


def forget(tree: WorkTree) -> None:
    """Take the note away, before anything in the tree changes."""
    try:
        (tree.root / _RECORD).unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(tree.root / _RECORD, error) from None


def note(tree: WorkTree, made: str) -> None:
    """Note that all of a build is done."""
    write_atomically(tree.root / _RECORD, json.dumps(made))


def is_noted(tree: WorkTree, wanted: str) -> bool:
    """Tell whether the last build that ended well is the one with this token."""
    try:
        return (tree.root / _RECORD).read_text(encoding="utf-8") == json.dumps(wanted)
    except (OSError, ValueError):
        return False


def holds(
    tree: WorkTree, wanted: str, built: Mapping[Path, Sequence[str]], processes: ProcessRunner
) -> bool:
    """Tell whether there is nothing to do for a build; ``built`` has targets by build folder."""
    return is_noted(tree, wanted) and all(
        _nothing_to_do(build, targets, processes) for build, targets in built.items()
    )


def _nothing_to_do(build: Path, targets: Sequence[str], processes: ProcessRunner) -> bool:
    """Ask Ninja whether it would make any of ``targets`` anew; nothing is made."""
    argv = (processes.build_tool("ninja"), "-C", str(build), "-n", *targets)
    outcome = processes.run(Command(argv=argv, timeout_s=_LOOK_TIMEOUT_S))
    return outcome.ok and _NOTHING_TO_DO in outcome.stdout
