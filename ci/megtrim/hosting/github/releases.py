"""Publishes a release with all of its files, or nothing that anyone sees.

Everything is uploaded to a draft, which becomes the release once GitHub has every byte.
"""

import hashlib
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote

from megtrim.hosting.github.api import Api, find_at, number_at, raise_odd_answer, text_at
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError, ProductFailure
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import one_line

_MARK = "<!-- megtrim:release:v1 -->"
"""Ends the text of each release that this module makes: drafts of people stay theirs."""
_MOST_RELEASES = 1000
_BYTES = "application/octet-stream"
_LARGEST_DOCUMENT = 64 * 1024 * 1024


class WantedRelease(Value):
    tag: str
    commit: str
    """The commit that was built, at which the tag must be."""
    notes: str
    assets: Mapping[str, bytes]


class FoundRelease(Value):
    tag: str
    assets: Mapping[str, int]


class ReleasePublisher:
    def __init__(self, api: Api, repository: str) -> None:
        self._api = api
        self._path = f"/repos/{repository}"

    def publish(self, wanted: WantedRelease) -> str:
        """Return its page. Raises ProductFailure for a release of another commit or other files."""
        self._expect_tag(wanted)
        published, drafts = self._list(wanted.tag)
        for each in published:
            _expect_same(each, wanted)
            for draft in filter(_is_ours, drafts):
                with suppress(MegtrimError):  # no one sees it
                    self._discard(draft)
            return text_at(each, "html_url")
        for draft in drafts:
            self._discard(draft)
        body = {
            "tag_name": wanted.tag,
            "name": wanted.tag,
            "body": f"{wanted.notes.rstrip()}\n\n{_MARK}\n",
            "draft": True,
        }
        made = self._api.send("POST", f"{self._path}/releases", body)
        try:
            for name, data in sorted(wanted.assets.items()):
                self._upload(made, name, data)
            self._expect_tag(wanted)  # it may have moved meanwhile
        except MegtrimError:
            with suppress(MegtrimError):  # if it stays, the next attempt removes it
                self._discard(made)
            raise
        shown = self._api.send("PATCH", self._at(made), {"draft": False})
        return text_at(shown, "html_url")

    def find_last(self, tag: str, *, holding: Collection[str]) -> FoundRelease | None:
        """One without the files that it is to be ``holding`` is someone else's, and passed over."""
        for page in self._api.pages(f"{self._path}/releases", most=_MOST_RELEASES):
            other = text_at(page, "tag_name")
            if page.get("draft") is True or other == tag or _series_of(other) != _series_of(tag):
                continue
            assets = {text_at(file, "name"): number_at(file, "id") for file in _list_assets(page)}
            if assets.keys() >= {*holding}:
                return FoundRelease(tag=other, assets=assets)
        return None

    def download(self, asset: int) -> bytes:
        path = f"{self._path}/releases/assets/{asset}"
        return self._api.download(path, limit_bytes=_LARGEST_DOCUMENT, accept=_BYTES)

    def _expect_tag(self, wanted: WantedRelease) -> None:
        found = self._api.get(f"{self._path}/git/ref/tags/{quote(wanted.tag)}")
        if text_at(found, "object", "type") == "tag":  # one with a text of its own
            found = self._api.get(f"{self._path}/git/tags/{text_at(found, 'object', 'sha')}")
        commit = text_at(found, "object", "sha")
        if commit != wanted.commit:
            msg = (
                f"the tag {one_line(wanted.tag)} is at {one_line(commit)[:12]}, "
                f"and {wanted.commit[:12]} was built: it was moved"
            )
            raise ProductFailure(msg, hint="run the workflow again for the tag, or make a new tag")

    def _list(self, tag: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        every = self._api.pages(f"{self._path}/releases", most=_MOST_RELEASES)
        found = [each for each in every if each.get("tag_name") == tag]
        drafts = [each for each in found if each.get("draft") is True]
        return [each for each in found if each not in drafts], drafts

    def _discard(self, draft: Mapping[str, Any]) -> None:
        if not _is_ours(draft):
            where = one_line(str(find_at(draft, "html_url")))
            msg = f"{where}: found a draft of this tag that megtrim did not make"
            raise ProductFailure(msg, hint="publish or remove it, then run the job again")
        self._api.send("DELETE", self._at(draft))

    def _upload(self, draft: Mapping[str, Any], name: str, data: bytes) -> None:
        url = text_at(draft, "upload_url").partition("{")[0]
        stored = self._api.upload(f"{url}?name={quote(name)}", data)
        if not _is_stored(stored, name, data):
            msg = f"GitHub stored {one_line(name)} differently from what was sent"
            raise InfrastructureFailure(msg, hint="run the job again")

    def _at(self, release: Mapping[str, Any]) -> str:
        return f"{self._path}/releases/{number_at(release, 'id')}"


def _series_of(tag: str) -> str:
    found = re.match(r"(.*-|)v[0-9]", tag)
    return found[1] if found else ""


def _is_ours(draft: Mapping[str, Any]) -> bool:
    return str(find_at(draft, "body") or "").rstrip().endswith(_MARK)


def _expect_same(found: Mapping[str, Any], wanted: WantedRelease) -> None:
    """Refuse a release that is published with other files: whoever has it must be able to rely."""
    stored = {text_at(asset, "name"): asset for asset in _list_assets(found)}
    same = stored.keys() == wanted.assets.keys() and all(
        _is_stored(stored[name], name, data) for name, data in wanted.assets.items()
    )
    if not same:
        msg = f"the release {one_line(wanted.tag)} is published with other files"
        raise ProductFailure(msg, hint="a release is never changed: make a new tag")


def _list_assets(release: Mapping[str, Any]) -> list[dict[str, Any]]:
    assets = release.get("assets")
    if not isinstance(assets, list):
        raise_odd_answer("is a release without its files")
    return assets


def _is_stored(asset: Any, name: str, data: bytes) -> bool:
    stated = find_at(asset, "digest")
    same = stated is None or stated == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return same and (find_at(asset, "name"), find_at(asset, "size")) == (name, len(data))
