"""The baselines that runs of a repository stored as artifacts, and which of them may be used.

Part of the github room. A run of a pull request, or of a fork, could store anything under the name
of a baseline, so the run of each artifact is checked before the artifact is opened.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from megtrim.evidence.evidence import EVIDENCE_FILE
from megtrim.github.api import Api
from megtrim.github.commits import fetch_head, is_ancestor
from megtrim.github.log_text import one_line
from megtrim.util.commit_digest import COMMIT_DIGEST
from megtrim.util.errors import InputError
from megtrim.util.files import cannot_write

LARGEST_ARCHIVE_BYTES = 64 * 1024 * 1024
_LARGEST_FILE_BYTES = 64 * 1024 * 1024
_MOST_ENTRIES = 1000
_MOST_ARTIFACTS = 1000
SIZES_FILE = "sizes.json"
"""Of an artifact."""
_DAY_S = 86400
_DAMAGED = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, struct.error, OSError),
    *(EOFError, NotImplementedError, OverflowError, RuntimeError, ValueError),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Home:
    """The repository whose own runs count."""

    repository: str
    """As ``OWNER/NAME``."""
    repository_id: int
    default_branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredBaseline:
    """An artifact, from the list of artifacts."""

    id: int
    run_id: int
    sha: str
    branch: str
    created_s: float
    digest: str
    """sha256 of the archive, or empty."""

    def age(self, now_s: float) -> str:
        """Return how long ago it was stored, in days."""
        days = max(0, int((now_s - self.created_s) // _DAY_S))
        return "today" if days == 0 else f"{days} day{'s' if days > 1 else ''} ago"


class StoredBaselines:
    """Lists artifacts, checks their runs, and unpacks them."""

    def __init__(self, api: Api, home: Home) -> None:
        self._api = api
        self._home = home
        self._root = f"/repos/{home.repository}"

    def list_artifacts(self, name: str) -> tuple[StoredBaseline, ...]:
        """Return this repository's own artifacts of that name that can be read, newest first."""
        path = f"{self._root}/actions/artifacts"
        own = self._home.repository_id
        found: list[StoredBaseline] = []
        pages = self._api.pages(path, key="artifacts", params={"name": name}, most=_MOST_ARTIFACTS)
        for artifact in pages:
            run = artifact.get("workflow_run")
            expired = artifact.get("expired") is not False
            if artifact.get("name") != name or expired or not isinstance(run, dict):
                continue
            if run.get("repository_id") == run.get("head_repository_id") == own:
                found += _parse_artifact(artifact, run)
        return tuple(sorted(found, key=lambda each: (-each.created_s, -each.id)))

    def is_trusted(self, stored: StoredBaseline) -> bool:
        """Check its run: whoever may push to the base branch may also define its sizes."""
        run = self._api.get(f"{self._root}/actions/runs/{stored.run_id}")
        if not isinstance(run, dict):
            return False
        home = run.get("head_repository")
        facts = (run.get("id"), run.get("head_sha"), run.get("head_branch"))
        if facts != (stored.run_id, stored.sha, stored.branch):
            return False
        if not isinstance(home, dict) or home.get("id") != self._home.repository_id:
            return False
        by_hand = stored.branch == self._home.default_branch
        if run.get("event") not in ("push", *(("schedule", "workflow_dispatch") * by_hand)):
            return False
        return self._is_on_branch(stored)

    def download(self, stored: StoredBaseline, folder: Path) -> None:
        """Download its files into ``folder``.

        Raises InputError for an archive that is not the one that was stored, or is refused, and
        InfrastructureFailure if GitHub does not answer.
        """
        path = f"{self._root}/actions/artifacts/{stored.id}/zip"
        data = self._api.download(path, limit_bytes=LARGEST_ARCHIVE_BYTES)
        if stored.digest and hashlib.sha256(data).hexdigest() != stored.digest:
            msg = "the archive is not the one that was stored: its digest differs"
            raise InputError(msg, hint="it was replaced or damaged in transfer; it is not used")
        for name, content in read_archive(data).items():
            try:
                (folder / name).write_bytes(content)
            except OSError as error:
                raise cannot_write(folder / name, error) from None

    def _is_on_branch(self, stored: StoredBaseline) -> bool:
        """Check its commit's branch: a run for a tag is listed as one for a branch of that name."""
        repository = self._home.repository
        head = fetch_head(self._api, repository, stored.branch)
        return is_ancestor(self._api, repository, stored.sha, head)


def read_archive(data: bytes) -> dict[str, bytes]:
    """Return the files of a baseline that a zip holds; all others are left in it.

    Raises InputError for a zip that is damaged, or holds one of them twice or too large.
    """
    try:
        if data.count(b"PK\x01\x02") > _MOST_ENTRIES:  # opening it takes memory for each
            msg = f"more than {_MOST_ENTRIES} entries"
            raise zipfile.BadZipFile(msg)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return dict(_read_members(archive))
    except _DAMAGED as error:
        msg = f"its archive: not a whole zip: {one_line(str(error), most=100)}"
        hint = "it was not written by megtrim, or damaged in transfer; it is not used"
        raise InputError(msg, hint=hint) from None


def _read_members(archive: zipfile.ZipFile) -> Iterator[tuple[str, bytes]]:
    names = archive.namelist()
    for name in (SIZES_FILE, EVIDENCE_FILE):
        if names.count(name) > 1:  # which of them counts depends on the reader
            msg = f"{name} is there twice"
            raise zipfile.BadZipFile(msg)
        if name not in names:
            continue
        info = archive.getinfo(name)
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            msg = f"{name} is packed in a way that is not used here"
            raise zipfile.BadZipFile(msg)
        with archive.open(info) as member:  # verifies the checksum at the end
            content = member.read(_LARGEST_FILE_BYTES + 1)
        if len(content) > _LARGEST_FILE_BYTES:
            msg = f"{name} has more than {_LARGEST_FILE_BYTES} bytes"
            raise zipfile.BadZipFile(msg)
        yield name, content


def _parse_artifact(artifact: dict[str, Any], run: dict[str, Any]) -> Iterator[StoredBaseline]:
    """Yield the artifact if all fields of its description are valid."""
    numbers = artifact.get("id"), run.get("id")
    texts = run.get("head_sha"), run.get("head_branch"), artifact.get("created_at")
    if not all(type(each) is int for each in numbers) or not all(
        isinstance(each, str) for each in texts
    ):
        return
    sha, branch, created = map(str, texts)
    try:
        when = datetime.fromisoformat(created)
    except ValueError:
        return
    if not COMMIT_DIGEST.fullmatch(sha):
        return
    digest = artifact.get("digest")
    yield StoredBaseline(
        id=int(artifact["id"]),
        run_id=int(run["id"]),
        sha=sha,
        branch=branch,
        created_s=(when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp(),
        digest=digest.removeprefix("sha256:") if isinstance(digest, str) else "",
    )
