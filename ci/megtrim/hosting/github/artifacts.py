"""Artifacts of runs: archives that anyone may have stored, read to a limit."""

import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Annotated

from pydantic import AwareDatetime, Field, TypeAdapter, ValidationError

from megtrim.hosting.github.api import Api
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Commit, at

_MOST_ARTIFACTS = 1000
_LARGEST_ARCHIVE_BYTES = 64 * 1024 * 1024
_LARGEST_FILE_BYTES = 64 * 1024 * 1024
_MOST_ENTRIES = 1000
_DAMAGED = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
)


class StoredArtifact(Value):
    id: Annotated[int, Field(strict=True)]
    run_id: Annotated[int, Field(strict=True), at("workflow_run", "id")]
    sha: Annotated[Commit, at("workflow_run", "head_sha")]
    branch: Annotated[str, at("workflow_run", "head_branch")]
    repository_id: Annotated[int, Field(strict=True), at("workflow_run", "repository_id")]
    head_repository_id: Annotated[int, Field(strict=True), at("workflow_run", "head_repository_id")]
    created: Annotated[AwareDatetime, at("created_at")]
    size_bytes: Annotated[int, Field(strict=True), at("size_in_bytes")]
    digest: str | None = None
    """None from older servers."""


_STORED: TypeAdapter[StoredArtifact] = TypeAdapter(StoredArtifact)


def list_artifacts(api: Api, path: str, name: str) -> list[StoredArtifact]:
    """Return those of that name that have not expired, the newest first."""
    found = []
    for artifact in api.pages(path, key="artifacts", params={"name": name}, most=_MOST_ARTIFACTS):
        if artifact.get("name") == name and artifact.get("expired") is False:
            with suppress(ValidationError):  # a strange entry must not hide the others
                found.append(_STORED.validate_python(artifact))
    return sorted(found, key=lambda stored: (stored.created, stored.id), reverse=True)


def download(
    api: Api, repository: str, stored: StoredArtifact, names: Collection[str]
) -> dict[str, bytes]:
    """Return those of its files.

    Raises InputError for an archive that is not the one that was stored, or as read_archive does.
    """
    if stored.size_bytes > _LARGEST_ARCHIVE_BYTES:
        msg = f"found {stored.size_bytes:,} bytes, expected at most {_LARGEST_ARCHIVE_BYTES:,}"
        raise InputError(msg)
    path = f"/repos/{repository}/actions/artifacts/{stored.id}/zip"
    data = api.download(path, limit_bytes=_LARGEST_ARCHIVE_BYTES)
    if stored.digest and f"sha256:{hashlib.sha256(data).hexdigest()}" != stored.digest:
        msg = "the archive is not the one that was stored: its digest differs"
        raise InputError(msg, hint="it was replaced or damaged in transfer; it is not used")
    return read_archive(data, names)


def read_archive(data: bytes, names: Collection[str]) -> dict[str, bytes]:
    """Raises InputError for a zip that is damaged, or holds one of them twice or too large."""
    try:
        if data.count(b"PK\x01\x02") > _MOST_ENTRIES:  # opening it takes memory for each
            msg = f"more than {_MOST_ENTRIES} entries"
            raise zipfile.BadZipFile(msg)
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return dict(_read_members(archive, names))
    except _DAMAGED as error:
        msg = f"its archive: not a whole zip: {one_line(str(error), most=100)}"
        hint = "it was not written by megtrim, or damaged in transfer; it is not used"
        raise InputError(msg, hint=hint) from None


def _read_members(archive: zipfile.ZipFile, wanted: Collection[str]) -> Iterator[tuple[str, bytes]]:
    names = archive.namelist()
    for name in wanted:
        if names.count(name) > 1:  # which of them counts depends on the reader
            msg = f"{name} occurs twice"
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
