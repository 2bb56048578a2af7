"""Archives from the API are unpacked whole, or refused with a reason and without a trace."""

from __future__ import annotations

import io
import stat
import struct
import time
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.errors import InfrastructureFailure, InputError
from megtrim.github.archive import ArchiveLimits, unpack
from support.github_state import zipped


def entry(
    name: str, data: bytes = b"x", *, mode: int = 0, packed: int = zipfile.ZIP_DEFLATED
) -> bytes:
    """Return a zip of one entry, named as it is given and with a Unix mode."""
    info = zipfile.ZipInfo("placeholder")
    info.filename = info.orig_filename = name
    info.external_attr = mode << 16
    info.compress_type = packed
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr(info, data)
    return stream.getvalue()


def refusal(data: bytes, folder: Path, limits: ArchiveLimits | None = None) -> str:
    """Return why an archive is refused; nothing may be left of it."""
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(InputError) as caught:
        unpack(data, folder, source="the archive", limits=limits)
    assert sorted(folder.parent.rglob("*")) == before
    return caught.value.message


def test_files_and_folders_are_written(tmp_path: Path) -> None:
    """Names are returned sorted; folders are made for the files in them."""
    data = zipped({"sizes.json": "{}", "files/ab/c": b"\x00\x01", "empty/": b""})

    names = unpack(data, tmp_path / "new", source="the archive")

    assert names == ("files/ab/c", "sizes.json")
    assert (tmp_path / "new" / "files" / "ab" / "c").read_bytes() == b"\x00\x01"
    assert (tmp_path / "new" / "sizes.json").read_text() == "{}"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_the_name_that_is_written_is_the_name_that_was_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Later Pythons take another name from an extra field, after the first one was read."""

    def decode(info: zipfile.ZipInfo, *_: object) -> None:
        info.filename = "../../sizes.json"

    monkeypatch.setattr(zipfile.ZipInfo, "_decodeExtra", decode)

    said = refusal(zipped({"sizes.json": "{}"}), tmp_path / "a" / "new")

    assert said == "the archive: 'sizes.json': two names"


def test_an_empty_archive_is_an_empty_folder(tmp_path: Path) -> None:
    """A job that had nothing to store is no damage."""
    assert unpack(zipped({}), tmp_path / "new", source="the archive") == ()
    assert (tmp_path / "new").is_dir()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("/etc/passwd", "an absolute name"),
        ("C:evil", "an absolute name"),
        ("../evil", "a name that leads out of the folder"),
        ("a/../../evil", "a name that leads out of the folder"),
        ("a/./b", "a name that leads out of the folder"),
        ("a//b", "a name that leads out of the folder"),
        ("..", "a name that leads out of the folder"),
        (".", "a name that leads out of the folder"),
        ("a\\..\\..\\evil", "a character that is not allowed in a name"),
        ("a\nb", "a character that is not allowed in a name"),
        ("a\u202eb", "a character that is not allowed in a name"),
        ("ab:stream", "a character that is not allowed in a name"),
        ("/".join(["a" * 100] * 5), "a name that is too long"),
        ("ä" * 101, "a name that is too long"),
    ],
)
def test_a_name_stays_inside(name: str, said: str, tmp_path: Path) -> None:
    """No name may lead out of the folder, on any system, or deceive who reads it."""
    assert refusal(entry(name), tmp_path / "new").endswith(f": {said}")


def test_the_longest_names_fit(tmp_path: Path) -> None:
    """200 bytes between two slashes, 400 characters in all; one more does not."""
    part, whole = "ä" * 100, "/".join(["a" * 199, "b" * 200])

    assert unpack(entry(part), tmp_path / "one", source="it") == (part,)
    assert unpack(entry(whole), tmp_path / "two", source="it") == (whole,)
    assert refusal(entry(f"{part}a"), tmp_path / "new").endswith("a name that is too long")
    assert refusal(entry(f"a{whole}"), tmp_path / "new").endswith("a name that is too long")


def test_folders_above_are_made(tmp_path: Path) -> None:
    """The caller need not."""
    assert unpack(entry("a"), tmp_path / "x" / "y", source="it") == ("a",)


def test_what_is_hidden_behind_a_nul_counts(tmp_path: Path) -> None:
    """The library cuts names at a NUL: the whole name is judged."""
    data = entry("good.txt~evil").replace(b"~", b"\x00")

    assert "is not allowed in a name" in refusal(data, tmp_path / "new")


@pytest.mark.parametrize(
    "kind", [stat.S_IFLNK, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFIFO, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_links_and_devices_are_refused(kind: int, tmp_path: Path) -> None:
    """An entry is a plain file, or a folder that says so in its name."""
    said = refusal(entry("name", b"/etc/passwd", mode=kind | 0o777), tmp_path / "new")

    assert said == "the archive: 'name': neither a file nor a folder, but a link or a device"


def test_plain_files_with_a_mode_are_written_without_it(tmp_path: Path) -> None:
    """An archive makes nothing executable."""
    unpack(entry("tool", mode=stat.S_IFREG | 0o4777), tmp_path / "new", source="the archive")

    assert (tmp_path / "new" / "tool").stat().st_mode & 0o7111 == 0


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("a", "a"), "'a' is there twice"),
        (("a/B", "A/b"), "'A/b' is there twice"),
        (("é", "e\u0301"), "is there twice"),
        (("a", "a/b"), "'a' is a file and a folder"),
        (("a/b", "a"), "'a' is there twice"),
        (("a/", "a"), "'a' is there twice"),
    ],
)
def test_one_name_is_one_file(names: tuple[str, ...], said: str, tmp_path: Path) -> None:
    """Which of two would win depends on the reader."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, pytest.warns(UserWarning) as _:
        for name in names:
            archive.writestr(name, b"" if name.endswith("/") else b"x")
        archive.writestr("twice", b"")
        archive.writestr("twice", b"")  # so that there is always a warning to catch

    assert said in refusal(stream.getvalue(), tmp_path / "new")


def test_a_folder_may_be_named_after_what_is_in_it(tmp_path: Path) -> None:
    """Some archivers do."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("a/b", b"x")
        archive.writestr("a/", b"")

    assert unpack(stream.getvalue(), tmp_path / "new", source="the archive") == ("a/b",)


@pytest.mark.parametrize("flag", [0x1, 0x40, 0x2000])
def test_a_secret_entry_is_refused(flag: int, tmp_path: Path) -> None:
    """No one gives its password, in whatever way it is encrypted."""
    data = bytearray(entry("name"))
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        struct.pack_into("<H", data, data.index(signature) + offset, flag)

    assert refusal(bytes(data), tmp_path / "new") == "the archive: 'name': encrypted"


@pytest.mark.parametrize("packed", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_packings_are_refused(packed: int, tmp_path: Path) -> None:
    """Uploads are stored or deflated; every other reader is only one more to attack."""
    said = refusal(entry("name", packed=packed), tmp_path / "new")

    assert said == f"the archive: 'name': packed in a way ({packed}) that is not used here"


def test_bounds_hold(tmp_path: Path) -> None:
    """Entries, each file, all files, and how much a byte may unpack to; the bound itself fits."""
    limits = ArchiveLimits(entries=2, file_bytes=10, total_bytes=15, ratio=200, free_bytes=100)
    two = {"a": b"0123456789", "b": b"01234"}

    assert unpack(zipped(two), tmp_path / "fits", source="it", limits=limits) == ("a", "b")
    new = tmp_path / "new"
    assert refusal(zipped({"a": "", "b": "", "c": ""}), new, limits) == (
        "the archive: 3 entries, expected at most 2"
    )
    assert refusal(zipped({"a": b"01234567890"}), new, limits) == (
        "the archive: 'a': 11 bytes, expected at most 10"
    )
    assert refusal(zipped({"a": b"0123456789", "b": b"012345"}), new, limits) == (
        "the archive: unpacked it takes 16 bytes, expected at most 15"
    )


def test_a_bomb_is_refused_by_its_ratio(tmp_path: Path) -> None:
    """Zeros unpack to a thousand times their packed size; an honest text to some dozen times."""
    bomb = zipped({"a": bytes(2 * 1024 * 1024)})
    text = zipped({"a": "".join(f'{{"name": "region {i}"}}\n' for i in range(100_000))})

    assert " bytes that unpack to 2097152" in refusal(bomb, tmp_path / "new")
    assert unpack(text, tmp_path / "text", source="it") == ("a",)


def test_a_size_that_lies_is_found_while_reading(tmp_path: Path) -> None:
    """Reading ends where the declared size ends, so no more than that is ever written."""
    data = bytearray(entry("name", b"0123456789" * 100))
    for signature, offset in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        struct.pack_into("<I", data, data.index(signature) + offset, 10)

    assert "not a whole zip" in refusal(bytes(data), tmp_path / "new")


def test_very_many_entries_are_counted_before_they_are_read(tmp_path: Path) -> None:
    """Two hundred thousand names would take a gigabyte before anything could be judged."""
    data = b"PK\x01\x02" * 200_000 + zipped({})
    started = time.monotonic()

    assert refusal(data, tmp_path / "new") == "the archive: more than 1000 entries"
    assert time.monotonic() - started < 1


def test_damage_is_refused(tmp_path: Path) -> None:
    """A cut or changed archive leaves nothing, not even its whole files."""
    whole = zipped({"a": b"first", "b": b"0123456789" * 50})
    at = whole.rindex(b"b", 0, whole.index(b"PK\x01\x02"))
    changed = whole[: at + 3] + bytes([whole[at + 3] ^ 255]) + whole[at + 4 :]

    for data in (b"", b"no zip", whole[:-30], changed):
        assert refusal(data, tmp_path / "new").startswith("the archive: not a whole zip: ")


def test_a_folder_that_is_there_is_not_written_into(tmp_path: Path) -> None:
    """What is in it would be taken for the archive's."""
    folder = tmp_path / "old"
    folder.mkdir()
    (folder / "mine").write_text("kept")

    with pytest.raises(InfrastructureFailure):
        unpack(zipped({"a": b"1"}), folder, source="the archive")

    assert [path.name for path in tmp_path.rglob("*")] == ["old", "mine"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(data=st.data())
def test_no_bytes_are_a_surprise(data: st.DataObject, tmp_path: Path) -> None:
    """Whatever is done to an archive, it is unpacked or refused in words."""
    whole = bytearray(zipped({"sizes.json": b"{}" * 20, "files/a": b"abc"}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    folder = tmp_path / str(time.monotonic_ns())
    try:
        names = unpack(bytes(whole), folder, source="the archive")
    except InputError as error:
        assert error.message.startswith("the archive: ")
        assert not folder.exists()
    else:
        assert all((folder / name).resolve().is_relative_to(folder) for name in names)
