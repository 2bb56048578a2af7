"""The .gitignore that hides a folder of results from git, and no project in its place."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from megtrim.core.chain.filenames import (
    AGAINST_FILE,
    FINAL_FOLDER,
    FORMER_PASS_FILES,
    PASS_FOLDER,
    RUNS_FOLDER,
    SYSROOTS_FOLDER,
    WORK_FOLDER,
)
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.owned_folders import LOCKS

GITIGNORE = ".gitignore"
IGNORED = "*\n\n# megtrim made this file: results are not for git.\n"
_GIT = ".git"
_OWN_NAMES = frozenset(
    {
        LOCKS,
        FINAL_FOLDER,
        WORK_FOLDER,
        RUNS_FOLDER,
        PASS_FOLDER,
        SYSROOTS_FOLDER,
        AGAINST_FILE,
        *FORMER_PASS_FILES,
        "ccache",
        "baseline",
    }
)
"""What may stand in a folder of results before its first result, beside folders of stages."""


def hide(root: Path) -> None:
    """Hide results from git. In a project, that would hide the project's own files as well."""
    ignored = root / GITIGNORE
    if not os.path.lexists(ignored) and not any(_list_strangers(root)):
        write_atomically(ignored, IGNORED)


def _list_strangers(root: Path) -> Iterator[Path]:
    """Yield what stands in the folder of results and has no name that megtrim gives there."""
    from megtrim.core.chain.graph import Stage  # with it comes the schema of configurations

    with suppress(FileNotFoundError):
        for each in root.iterdir():
            is_scratch = each.name.startswith(".") and each.name != _GIT
            if each.name not in (*_OWN_NAMES, *Stage) and not is_scratch:
                yield each
