"""Strict parsers for what the scripts on a machine print. Pure: text in, values out."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from megtrim.devices.cpu_load import parse_children_s, share_of_others
from megtrim.devices.device import LARGEST_FETCHED_BYTES

_LINE = re.compile(r"^megtrim (\w+)=(.*)$", re.MULTILINE)
_SIZE = re.compile(r"^megtrim size=(\d{1,15}) \./(.+)$", re.MULTILINE)
_DIGEST = re.compile(r"^(\\?)([0-9a-f]{40}|[0-9a-f]{64})  (.+)$", re.MULTILINE)
_ESCAPED = re.compile(r"\\([\\r])")
_CACHED = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SECONDS = re.compile(r"\d{1,12}(?:\.\d{1,9})?", re.ASCII)
_NUMBER = re.compile(r"\d{1,15}", re.ASCII)
_ALGORITHMS = {"sha256sum": "sha256", "sha1sum": "sha1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupReply:
    """What the set-up of a run directory found."""

    root: str
    program: str
    """The machine's program for digests, such as ``sha256sum``."""
    cached: frozenset[str]
    free_kb: int

    @property
    def algorithm(self) -> str:
        """The name of its algorithm in :mod:`hashlib`."""
        return _ALGORITHMS[self.program]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteFile:
    """A file on the machine."""

    size_bytes: int
    digest: str
    """Empty for a file that is too large to be fetched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExitReport:
    """How a program ended on the machine."""

    rc: int
    late: bool
    pid: int | None
    wall_s: float | None
    other_load: float | None
    made: dict[str, RemoteFile]
    free_kb: int | None


def parse_setup(text: str) -> SetupReply | None:
    """Parse the output of a set-up; None if something is missing."""
    fields = dict(_LINE.findall(text))
    root, program, free = fields.get("root", ""), fields.get("sum", ""), fields.get("free", "")
    if not root.startswith("/") or program not in _ALGORITHMS or not _NUMBER.fullmatch(free):
        return None
    names = (value for key, value in _LINE.findall(text) if key == "file")
    cached = frozenset(name for name in names if _CACHED.fullmatch(name))
    return SetupReply(root=root, program=program, cached=cached, free_kb=int(free))


def parse_digests(text: str) -> dict[str, str]:
    """Return digests by file name, from the output of a digest program."""
    found = _DIGEST.findall(text)
    # Some escape backslashes and line ends in a name, and mark that by a leading backslash.
    names = (_ESCAPED.sub(_unescape_char, name) if odd else name for odd, _, name in found)
    return {name.removeprefix("./"): line[1] for name, line in zip(names, found, strict=True)}


def _unescape_char(escaped: re.Match[str]) -> str:
    return "\r" if escaped[1] == "r" else "\\"


def parse_files(text: str) -> dict[str, RemoteFile] | None:
    """Return files by name, or None if the machine's list is incomplete."""
    digests = parse_digests(text)
    sizes = {name: int(size) for size, name in _SIZE.findall(text)}
    digestible = {name for name, size in sizes.items() if size <= LARGEST_FETCHED_BYTES}
    if "megtrim surveyed=yes" not in text.split("\n") or digests.keys() != digestible:
        return None
    names = sorted(sizes)
    return {
        name: RemoteFile(size_bytes=sizes[name], digest=digests.get(name, "")) for name in names
    }


def parse_exit(text: str) -> ExitReport | None:
    """Parse how a run ended; None if something is missing."""
    fields = dict(_LINE.findall(text))
    made = parse_files(text)
    rc = fields.get("rc", "")
    if made is None or not _NUMBER.fullmatch(rc):
        return None
    began, ended = fields.get("began", ""), fields.get("ended", "")
    timed = _SECONDS.fullmatch(began) and _SECONDS.fullmatch(ended)
    free, pid = fields.get("free", ""), fields.get("pid", "")
    return ExitReport(
        rc=int(rc),
        late=fields.get("late") == "yes",
        pid=int(pid) if _NUMBER.fullmatch(pid) else None,
        wall_s=max(0.0, float(ended) - float(began)) if timed else None,
        other_load=_find_other_load(fields),
        made=made,
        free_kb=int(free) if _NUMBER.fullmatch(free) else None,
    )


def _find_other_load(fields: Mapping[str, str]) -> float | None:
    own_s = parse_children_s(fields.get("own", ""))
    if own_s is None:
        return None
    return share_of_others(fields.get("before", ""), fields.get("after", ""), own_s)


def forward_until(mark: str, forward: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that forwards lines, up to the empty line before ``mark``."""
    held: list[str] = []
    ended = False

    def line(text: str) -> None:
        nonlocal ended
        ended = ended or text == mark
        if ended:
            return
        for each in held:
            forward(each)
        held[:] = [""] if text == "" else []
        if text:
            forward(text)

    return line
