"""What runs stored; whom they belong to is tried in test_find.py, with what a verdict does."""

from __future__ import annotations

import io
import stat
import struct
import time
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.github.baselines.stored import Home, StoredBaselines, read_archive
from megtrim.util.errors import InfrastructureFailure, InputError
from support.github_double import GithubDouble
from support.github_state import zipped
from unit.github.support import asking


def test_artifacts_are_listed_newest_first(github: GithubDouble, tmp_path: Path) -> None:
    """Those that expired are left out, and those of another name."""
    repository = github.repository("acme/phone")
    run = repository.run(repository.commit({"a": "1"}, branch="main"))
    old = repository.artifact(run, {"sizes.json": "1"}, days_ago=2)
    new = repository.artifact(run, {"a": "1"}, days_ago=1)
    repository.artifact(run, {"a": "1"}, expired=True)
    repository.artifact(run, {"a": "1"}, name="megtrim-report")
    home = Home(repository="acme/phone", repository_id=repository.id, default_branch="main")
    baselines = StoredBaselines(asking(github.url).api, home)

    found = baselines.list_artifacts("megtrim-baseline")

    assert [each.id for each in found] == [new, old]
    with pytest.raises(InfrastructureFailure, match="cannot be written"):
        baselines.download(found[1], tmp_path / "missing")


def packed(
    *names: str, data: bytes = b"x", kind: int = 0, method: int = zipfile.ZIP_STORED
) -> bytes:
    """Return a zip with entries of these names, whatever they are."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name in names:
            info = zipfile.ZipInfo("placeholder")
            info.filename = info.orig_filename = name
            info.external_attr = kind << 16
            info.compress_type = method
            archive.writestr(info, data)
    return stream.getvalue()


def patched(data: bytes, local: int, central: int, kind: str, value: int) -> bytes:
    """Return a zip of one entry with another value in both of its headers."""
    content = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        struct.pack_into(kind, content, content.index(signature) + offset, value)
    return bytes(content)


@pytest.mark.parametrize(
    "others",
    [
        *("/etc/passwd", "C:evil", "../sizes.json", "a/../../evil", "a\\..\\evil", "./sizes.json"),
        *("a\nb", "sizes.json/", "Sizes.json", "evidence.json/a", "a" * 1000),
    ],
)
def test_only_the_files_of_a_baseline_are_taken_out(others: str) -> None:
    """By their names alone, so no name of an archive leads anywhere."""
    assert read_archive(packed("sizes.json", others)) == {"sizes.json": b"x"}
    assert read_archive(packed(others)) == {}
    both = {"sizes.json": b"{}", "evidence.json": b"[]"}
    assert read_archive(zipped(both)) == both


def test_a_link_is_the_text_that_it_holds() -> None:
    """Nothing is followed, and nothing made executable."""
    link = packed("sizes.json", data=b"/etc/passwd", kind=stat.S_IFLNK | 0o777)

    assert read_archive(link) == {"sizes.json": b"/etc/passwd"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "File is not a zip file"),
        (b"no zip", "File is not a zip file"),
        (packed("sizes.json")[:-30], "File is not a zip file"),
        (packed("sizes.json", data=b"0123").replace(b"0123", b"0124"), "Bad CRC-32"),
        (packed("sizes.json", "sizes.json"), "sizes.json is there twice"),
        (packed("sizes.json", method=zipfile.ZIP_LZMA), "packed in a way that is not used here"),
        (packed("sizes.json", method=zipfile.ZIP_BZIP2), "packed in a way that is not used here"),
        (patched(packed("sizes.json"), 6, 8, "<H", 1), "is encrypted"),
        # A size that lies ends the reading.
        (patched(packed("sizes.json", data=b"0" * 1000), 22, 24, "<I", 10), ""),
        (b"PK\x01\x02" * 200_000 + zipped({}), "more than 1000 entries"),
    ],
)
def test_an_archive_is_read_whole_or_refused(data: bytes, problem: str) -> None:
    """Before two hundred thousand names take a gigabyte."""
    started = time.monotonic()

    with pytest.raises(InputError, match=rf"^its archive: not a whole zip: .*{problem}"):
        read_archive(data)
    assert time.monotonic() - started < 1


def test_a_file_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Gigabytes of zeros are not unpacked."""
    bomb = zipped({"sizes.json": bytes(2_000_000), "evidence.json": b"{}"})
    monkeypatch.setattr("megtrim.github.baselines.stored._LARGEST_FILE_BYTES", 2_000_000)
    assert len(read_archive(bomb)["sizes.json"]) == 2_000_000
    monkeypatch.setattr("megtrim.github.baselines.stored._LARGEST_FILE_BYTES", 1_999_999)
    with pytest.raises(InputError, match=r"sizes\.json has more than 1999999 bytes"):
        read_archive(bomb)


@settings(max_examples=150)
@given(data=st.data())
def test_no_bytes_are_a_surprise(data: st.DataObject) -> None:
    """Whatever is done to an archive, it is read or refused in words."""
    whole = bytearray(zipped({"sizes.json": b"{}" * 20, "files/a": b"abc"}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        files = read_archive(bytes(whole))
    except InputError as error:
        assert error.message.startswith("its archive: ")
    else:
        assert files.keys() <= {"sizes.json", "evidence.json"}
