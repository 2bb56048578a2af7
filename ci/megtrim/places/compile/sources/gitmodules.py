"""Reads .gitmodules and URLs of repositories, or shows the line of what is odd.

The file is part of a proposed change. Only the form that git itself writes is read. What could lead
out of the tree, or start a program, is refused, whether or not it is needed.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import PurePosixPath

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

FILE = ".gitmodules"
LARGEST_BYTES = 64 * 1024
MOST_SUBMODULES = 500
_SECTION = re.compile(r'\[submodule "([^"\\\x00-\x1f\x7f]{1,250})"\]')
_PAIR = re.compile(r"([A-Za-z][A-Za-z0-9-]{0,60})\s*=\s*(.*)")
_PATH = re.compile(r"[A-Za-z0-9._+@ -][A-Za-z0-9._+@ /-]{0,999}", re.ASCII)
_KEYS = ("path", "url", "branch", "shallow", "ignore", "update", "fetchrecursesubmodules")
_UPDATES = ("checkout", "rebase", "merge", "none")
_HINT = "write it as `git submodule add` does"
_URL = re.compile(
    r"(?P<scheme>[a-z]{1,8})://(?P<host>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250})(?::[0-9]{1,5})?)?)"
    r"(?P<path>/[A-Za-z0-9._~+/-]{1,500})",
    re.ASCII,
)
_PART = re.compile(r"[A-Za-z0-9._~+][A-Za-z0-9._~+-]*", re.ASCII)
_RELATIVE = ("./", "../")


class Submodule(Value):
    """``place`` is FILE:LINE, for messages."""

    path: PurePosixPath
    url: str
    """As it is written: not checked, and possibly relative to the repository's own."""
    place: str


class RepositoryUrl(Value):
    scheme: str
    host: str
    parts: tuple[str, ...]
    """The last one without ``.git``."""
    ending: str = field(default="", compare=False)
    """``.git``, if it is written so: some servers insist on it."""

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}/{'/'.join(self.parts)}{self.ending}"


class RepositoryPattern(Value):
    """One repository, or all below a path: an URL that ends with a slash."""

    url: RepositoryUrl
    below: bool

    def fits(self, url: RepositoryUrl) -> bool:
        if not self.below:
            return url == self.url
        same = (url.scheme, url.host) == (self.url.scheme, self.url.host)
        return same and url.parts[: len(self.url.parts)] == self.url.parts


class Trust(Value):
    repositories: frozenset[RepositoryUrl]
    """At this place, by the trusted commit."""
    patterns: tuple[RepositoryPattern, ...]
    """Named by the workflow, wherever they are asked for."""

    def allows(self, url: RepositoryUrl) -> bool:
        return url in self.repositories or any(pattern.fits(url) for pattern in self.patterns)


@dataclass(slots=True)
class _Section:
    name: str
    line: int
    values: dict[str, tuple[str, int]]


def parse_gitmodules(text: str, *, shown: str) -> tuple[Submodule, ...]:
    """Sorted by path. Raises InputError; ``shown`` is the file in messages."""
    sections = _sections(text, shown)
    names = [section.name for section in sections]
    if len(names) > MOST_SUBMODULES:
        msg = f"{shown}: found {len(names)} submodules, expected at most {MOST_SUBMODULES}"
        raise InputError(msg)
    found = [_submodule(section, shown) for section in sections]
    by_path = sorted(found, key=lambda each: each.path.parts)
    for first, second in pairwise(by_path):
        if second.path.is_relative_to(first.path):
            msg = f"{second.place}: found a path within the submodule of {first.place}"
            raise InputError(msg, hint="a submodule has its own path")
    return tuple(by_path)


def check_path(text: str) -> str:
    """What is wrong with the path of a submodule; empty for one that stays in its tree."""
    parts = text.split("/")
    if not _PATH.fullmatch(text) or any(not part.strip() for part in parts):
        return "characters that no plain path has"
    if any(part in (".", "..") for part in parts):
        return "a path that leads elsewhere"
    if any(part.lower() == ".git" for part in parts):
        return "a path into a repository's own files"
    if any(part.startswith("-") for part in parts):
        return "a part that begins like an option"
    return ""


def _sections(text: str, shown: str) -> list[_Section]:
    found: list[_Section] = []
    for number, line in _lines(text):
        section = _SECTION.fullmatch(line)
        if section is not None:
            found.append(_section(section[1], number, found, shown))
            continue
        pair = _PAIR.fullmatch(line)
        if pair is None or not found:
            expected = '[submodule "NAME"] or KEY = VALUE'
            raise _make_error(shown, number, line, expected)
        _add(found[-1], pair[1].lower(), pair[2].strip(), number, shown)
    return found


def _lines(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.split("\n"), 1):
        stripped = line.strip()
        if stripped and not stripped.startswith(("#", ";")):
            yield number, stripped


def _section(name: str, number: int, earlier: list[_Section], shown: str) -> _Section:
    # git keeps a repository below the name of its submodule.
    if name.startswith(("-", "/")) or ".." in name.split("/"):
        raise _make_error(shown, number, name, "a name that is no option and leads nowhere")
    if name in {each.name for each in earlier}:
        raise _make_error(shown, number, name, "each name once")
    return _Section(name, number, {})


def _add(section: _Section, key: str, value: str, number: int, shown: str) -> None:
    if key not in _KEYS:
        raise _make_error(shown, number, key, f"one of {', '.join(_KEYS)}")
    if key in section.values:
        raise _make_error(shown, number, key, "each key once")
    if any(char in value for char in '"\\#;') or not value.isprintable():
        raise _make_error(shown, number, value, "a plain value")
    if key == "update" and value not in _UPDATES:
        raise _make_error(shown, number, f"update = {value}", f"one of {', '.join(_UPDATES)}")
    section.values[key] = (value, number)


def _submodule(section: _Section, shown: str) -> Submodule:
    for key in ("path", "url"):
        if not section.values.get(key, ("", 0))[0]:
            raise _make_error(shown, section.line, f"no {key}", f"a {key} of each submodule")
    path, line = section.values["path"]
    url, url_line = section.values["url"]
    flaw = check_path(path)
    if flaw:
        raise _make_error(shown, line, path, f"the path of a folder in the tree, not {flaw}")
    return Submodule(path=PurePosixPath(path), url=url, place=f"{shown}:{url_line}")


def _make_error(shown: str, number: int, found: str, expected: str) -> InputError:
    return InputError(f"{shown}:{number}: found {found[:80]!r}, expected {expected}", hint=_HINT)


def parse_repository_url(text: str, *, place: str, near: RepositoryUrl | None) -> RepositoryUrl:
    """Raises InputError that begins with ``place``.

    Relative URLs are relative to ``near``. Besides https, only its scheme is taken, on its server.
    """
    if text.startswith(_RELATIVE) and near is not None:
        return _resolve(text, near, place)
    url = _read(text)
    if url is None:
        raise _make_url_error(place, text)
    own = near is not None and (url.scheme, url.host) == (near.scheme, near.host)
    if not own and (url.scheme != "https" or not url.host):
        raise _make_url_error(place, text)
    return url


def parse_project_url(text: str) -> RepositoryUrl:
    """Of https, http or a file's URL. Raises InputError."""
    url = _read(text)
    if url is None or url.scheme not in ("https", "http", "file"):
        msg = f"the project's repository: found {text[:80]!r}, expected https://HOST/OWNER/NAME"
        raise InputError(msg)
    return url


def parse_patterns(text: str, *, near: RepositoryUrl) -> tuple[RepositoryPattern, ...]:
    """Separated by spaces. Raises InputError."""
    found = []
    for word in text.split():
        url = parse_repository_url(word, place="submodule-repositories", near=near)
        found.append(RepositoryPattern(url=url, below=word.endswith("/")))
    return tuple(found)


def _resolve(text: str, near: RepositoryUrl, place: str) -> RepositoryUrl:
    """As git does: from the repository, as if that were a folder."""
    parts = list(near.parts)
    rest = text
    while rest.startswith(_RELATIVE):
        up, _, rest = rest.partition("/")
        if up == "..":
            if not parts:
                raise _make_url_error(place, text)
            parts.pop()
    added = tuple(rest.removesuffix("/").split("/"))
    if not _are_plain(added):
        raise _make_url_error(place, text)
    return _make_url(near.scheme, near.host, (*parts, *added))


def _read(text: str) -> RepositoryUrl | None:
    match = _URL.fullmatch(text)
    parts = tuple(match["path"][1:].removesuffix("/").split("/")) if match else ()
    if match is None or not _are_plain(parts):
        return None
    return _make_url(match["scheme"], match["host"].lower(), parts)


def _make_url(scheme: str, host: str, parts: tuple[str, ...]) -> RepositoryUrl:
    last = parts[-1].removesuffix(".git")
    ending = parts[-1][len(last) :]
    return RepositoryUrl(scheme=scheme, host=host, parts=(*parts[:-1], last), ending=ending)


def _are_plain(parts: tuple[str, ...]) -> bool:
    return all(_PART.fullmatch(part) and part not in (".", "..", ".git") for part in parts)


def _make_url_error(place: str, text: str) -> InputError:
    msg = f"{place}: found the URL {text[:80]!r}, expected https://HOST/OWNER/NAME"
    return InputError(msg, hint="submodules are fetched by https, without options or a password")
