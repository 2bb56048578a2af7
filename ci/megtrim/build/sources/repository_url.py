"""Where a repository is: an URL of few forms, and which of them the trusted side allows. Pure.

git takes many forms of URLs, and some of them start programs or carry options. Only https is read,
and whatever else the project's own server is reached by, on that server alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import field

from megtrim.util.errors import InputError
from megtrim.util.value import Value

_URL = re.compile(
    r"(?P<scheme>[a-z]{1,8})://(?P<host>(?:[A-Za-z0-9](?:[A-Za-z0-9.-]{0,250})(?::[0-9]{1,5})?)?)"
    r"(?P<path>/[A-Za-z0-9._~+/-]{1,500})",
    re.ASCII,
)
_PART = re.compile(r"[A-Za-z0-9._~+][A-Za-z0-9._~+-]*", re.ASCII)
_RELATIVE = ("./", "../")


class RepositoryUrl(Value):
    """Two texts of one repository are equal values."""

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
        return url in self.repositories or any(each.fits(url) for each in self.patterns)


def parse_repository_url(text: str, *, place: str, near: RepositoryUrl | None) -> RepositoryUrl:
    """Raises InputError that begins with ``place``.

    Relative URLs are relative to ``near``. Besides https, only its scheme is taken, on its server.
    """
    if text.startswith(_RELATIVE) and near is not None:
        return _resolve(text, near, place)
    url = _read(text)
    if url is None:
        raise _make_error(place, text)
    own = near is not None and (url.scheme, url.host) == (near.scheme, near.host)
    if not own and (url.scheme != "https" or not url.host):
        raise _make_error(place, text)
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


def make_trust(
    repositories: Iterable[RepositoryUrl], patterns: tuple[RepositoryPattern, ...]
) -> Trust:
    return Trust(repositories=frozenset(repositories), patterns=patterns)


def _resolve(text: str, near: RepositoryUrl, place: str) -> RepositoryUrl:
    """As git does: from the repository, as if that were a folder."""
    parts = list(near.parts)
    rest = text
    while rest.startswith(_RELATIVE):
        up, _, rest = rest.partition("/")
        if up == ".." and not parts:
            raise _make_error(place, text)
        del parts[len(parts) - (up == "..") :]
    added = tuple(rest.removesuffix("/").split("/"))
    if not _are_plain(added):
        raise _make_error(place, text)
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


def _make_error(place: str, text: str) -> InputError:
    msg = f"{place}: found the URL {text[:80]!r}, expected https://HOST/OWNER/NAME"
    return InputError(msg, hint="submodules are fetched by https, without options or a password")
