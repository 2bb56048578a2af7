"""The files that a trim was made of, and whether a commit holds the same. Pure.

A commit is held against the bytes themselves: git may call a tree unchanged that is not (untracked
and ignored files, ``assume-unchanged``, ``skip-worktree``), and a commit may follow on its pass.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import ConfigDict, Field, Strict

from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

VERSION = 1
_Text = Annotated[str, Field(max_length=4096)]
_MOST_NAMED = 3
_SKIPPED = "__pycache__"


class MadeOf(Value):
    """Paths are from the top of the repository."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    version: int = VERSION
    config: _Text
    """The configuration, and its toolchain, if it has several."""
    quick: Annotated[bool, Strict()]
    files: Mapping[_Text, _Text] = field(default_factory=dict)
    """By path: the sha256 of each file's bytes, or of where a link leads."""
    folders: tuple[_Text, ...] = ()
    """What is in these is of the program, as a whole."""
    patterns: tuple[_Text, ...] = ()
    """A file of such a name is of the program, too."""
    outside: tuple[_Text, ...] = ()
    """What no commit of this repository holds, in words."""
    built_with: Mapping[_Text, _Text] = field(default_factory=dict)


def find_difference(
    passed: MadeOf, now: MadeOf, held: Mapping[str, Collection[str]], names: Collection[str]
) -> str:
    """Say why a pass is not one of a commit; empty: it is.

    ``held`` has the digests that a commit's file may have on disk, by path; ``names`` are all files
    of the commit. ``now`` is what this trim is to be made of, by the same tools.
    """
    if (passed.config, passed.quick) != (now.config, now.quick):
        kind = "a quick trim of" if passed.quick else "a full trim of"
        return f"it was {kind} {passed.config}"
    if passed.outside:
        return passed.outside[0]
    for label in sorted({*passed.built_with, *now.built_with}):
        before = passed.built_with.get(label, "none")
        after = now.built_with.get(label, "none")
        if before != after:
            return f"its {label} was {before}, and is {after} now"
    other = sorted(path for path, digest in passed.files.items() if not _holds(held, path, digest))
    if other:
        return _name_files(other, "not as the commit has it", "not as the commit has them")
    more = sorted(_list_more(passed, names))
    if more:
        return _name_files(more, "in the commit, and was not there", "in it, and were not there")
    return ""


def list_changed(before: MadeOf, after: MadeOf) -> tuple[str, ...]:
    paths = {*before.files, *after.files}
    return tuple(sorted(path for path in paths if before.files.get(path) != after.files.get(path)))


def leave_out(made_of: MadeOf, pattern: str) -> MadeOf:
    files = {path: at for path, at in made_of.files.items() if not matches(path, pattern)}
    return replace(made_of, files=files)


def matches(path: str, pattern: str) -> bool:
    """Whether :meth:`pathlib.Path.glob` finds a file by a pattern."""
    parts = path.split("/")
    reached = {0}
    for wanted in pattern.split("/"):
        if wanted == "**":
            reached = {at for start in reached for at in range(start, len(parts))}
        else:
            fitting = (at for at in reached if at < len(parts) and fnmatchcase(parts[at], wanted))
            reached = {at + 1 for at in fitting}
    return len(parts) in reached


def _holds(held: Mapping[str, Collection[str]], path: str, digest: str) -> bool:
    return digest in held.get(path, ())


def _list_more(passed: MadeOf, names: Collection[str]) -> Iterator[str]:
    for name in names:
        if name in passed.files or _SKIPPED in name.split("/"):
            continue
        inside = any(is_within(name, folder) for folder in passed.folders)
        hidden = name.rpartition("/")[2].startswith(".")
        if inside or (not hidden and any(matches(name, each) for each in passed.patterns)):
            yield name


def is_within(path: str, folder: str) -> bool:
    """``.``: the top, which has everything."""
    return folder == "." or path == folder or path.startswith(f"{folder}/")


def _name_files(paths: list[str], one: str, several: str) -> str:
    listed = ", ".join(paths[:_MOST_NAMED])
    others = len(paths) - _MOST_NAMED
    more = f" and {count(others, 'more file')}" if others > 0 else ""
    said = f"is {one}" if len(paths) == 1 else f"are {several}"
    return f"{listed}{more} {said}"
