"""Putting a miniature tree together and committing it, the same bytes every time."""

import os
import shutil
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path

from megtrim.util.process import Command, ProcessRunner
from support.megtrim_cli import SAMPLE
from support.miniature.patches import BOTH, SDK, Patch


class Generation(StrEnum):
    """The two layouts, by the folder that ``load_and_run`` lies in."""

    SDK = "sdk"
    """Up to 1.6."""
    LITE = "lite"
    """From 1.7 on."""


_PARTS = Path(__file__).parent / "parts"
_SOURCES = SAMPLE / "src"
_BOTH_HAVE = {
    "base": "src/base",
    "graph": "src/graph",
    "opr": "src/opr",
    "kernels": "dnn/src/kernels",
    "midout": "third_party/midout/src",
}
_LITE_HAS = {
    "load_and_run": "lite/load_and_run/src",
    "bin_reduce_cmake.h": "src/bin_reduce_cmake.h",
}
_SDK_HAS = {"load_and_run": "sdk/load-and-run/src"}
_SDK_MAIN = "sdk/load-and-run/src/main.cpp"
_MODES = "dnn/scripts/opr_param_defs.py"
_GIT_ENV = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_NAME": "miniature" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_EMAIL": "miniature@example.invalid" for who in ("AUTHOR", "COMMITTER")},
    **{f"GIT_{who}_DATE": "2024-01-01T00:00:00Z" for who in ("AUTHOR", "COMMITTER")},
}


def make_miniature(
    folder: Path, generation: Generation | str, *, more: Mapping[str, str] | None = None
) -> Path:
    """Make the tree of that generation in ``folder``, one commit of git, and return ``folder``.

    ``more`` are files beyond its own: path and text.
    """
    which = Generation(generation)
    for part in ("common", which.value):
        shutil.copytree(_PARTS / part, folder, dirs_exist_ok=True)
    own = _LITE_HAS if which is Generation.LITE else _SDK_HAS
    for source, target in (_BOTH_HAVE | own).items():
        _copy(_SOURCES / source, folder / target)
    for patch in (*BOTH, *(SDK if which is Generation.SDK else ())):
        _apply(patch, folder / (_BOTH_HAVE | own)[patch.part])
    if which is Generation.SDK:
        (folder / _SDK_MAIN).rename(folder / "sdk/load-and-run/main.cpp")
    (folder / _MODES).write_text(_modes(), encoding="utf-8")
    for name, text in (more or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    _commit(folder)
    return folder


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_file():
        shutil.copyfile(source, target)
        return
    shutil.copytree(source, target)
    # The program's files no longer lie in a folder of its name.
    for file in sorted(target.rglob("*")) if source.name == "load_and_run" else ():
        text = file.read_text(encoding="utf-8")
        file.write_text(text.replace('#include "load_and_run/', '#include "'), encoding="utf-8")


def _apply(patch: Patch, folder: Path) -> None:
    """Replace a text that stands ``times`` times; the sample engine may have moved on."""
    path = folder / patch.file
    text = path.read_text(encoding="utf-8")
    found = text.count(patch.old)
    assert found == patch.times, f"{patch.part}/{patch.file}: {found} times: {patch.old}"
    path.write_text(text.replace(patch.old, patch.new), encoding="utf-8")


def _modes() -> str:
    lines = (_SOURCES / "elemwise_modes.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split() for line in lines if not line.startswith("#")]
    items = "".join(f'    "{name} = {value}",\n' for name, value in pairs)
    return f'pdef("Elemwise").add_enum(\n    "Mode",\n{items})\n'


def _commit(folder: Path) -> None:
    processes = ProcessRunner({**os.environ, **_GIT_ENV})
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "miniature")):
        done = processes.run(Command(argv=("git", "-C", str(folder), *words), timeout_s=60))
        assert done.ok, done.stderr
