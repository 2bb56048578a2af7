import gzip
import io
import os
import stat
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.ship.release.archive import (
    expect_new,
    from_path,
    from_text,
    is_archive,
    open_release,
    write_archive,
    write_folder,
)
from megtrim.ship.release.check import check_release
from unit.ship.release.examples import as_files, documents, write

FILES = (from_text("bin/run", "run\n"), from_text("share/a/b.txt", "text\n"))
Member = tuple[tarfile.TarInfo, bytes]


def member(name: str, data: bytes = b"", **fields: object) -> Member:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def packed(*members: Member, form: int = tarfile.USTAR_FORMAT) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=form) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(stream.getvalue())


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_archive(as_files(documents()), tmp_path / "camera-1.4.tar.gz")

    with open_release(tmp_path / "camera-1.4.tar.gz") as folder:
        assert check_release(folder).problems == ()
        assert stat.S_IMODE((folder / "bin/load_and_run").stat().st_mode) == 0o755
    assert not folder.exists()


def test_other_tools_read_it_and_equal_files_give_equal_bytes(tmp_path: Path) -> None:
    first, second = (tmp_path / each for each in ("a-1.4.tar.gz", "elsewhere/a-1.4.tar.gz"))
    second.parent.mkdir()
    write_archive(FILES, first)
    write_archive(reversed(FILES), second)
    with tarfile.open(first) as archive:
        found = {each.name: (each.mode, each.mtime, each.uid) for each in archive}

    assert found == {"a-1.4/bin/run": (0o755, 0, 0), "a-1.4/share/a/b.txt": (0o644, 0, 0)}
    assert first.read_bytes() == second.read_bytes()


def test_a_folder_stays_a_folder(tmp_path: Path) -> None:
    folder = write(tmp_path / "odd.tar.gz")

    assert is_archive(folder)
    with open_release(folder) as opened:
        assert opened == folder


def flip(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


GOOD = member("r/bin/a", b"a" * 2000, mode=0o755)
DAMAGES: dict[str, tuple[bytes, str]] = {
    "bit": (flip(packed(member("r/a", bytes(range(256)) * 20))), "damaged, or cut off"),
    "cut": (packed(GOOD)[:-12], "damaged, or cut off"),
    "cut in a file": (gzip.compress(gzip.decompress(packed(GOOD))[:700]), "damaged, or cut off"),
    "no archive": (b"camera", "damaged, or cut off"),
    "other content": (gzip.compress(b"camera" * 200), "damaged, or cut off"),
    "outside": (packed(member("r/../../x", b"x")), "'r/../../x' is not a plain file"),
    "absolute": (
        packed(member("/etc/x", b"x"), form=tarfile.PAX_FORMAT),
        "'/etc/x' is not a plain file",
    ),
    "no folder": (packed(member("x", b"x")), "'x' is not a plain file"),
    "link": (packed(member("r/x", type=tarfile.SYMTYPE, linkname="/etc")), "is not a plain file"),
    "hard link": (
        packed(member("r/x", type=tarfile.LNKTYPE, linkname="r/a")),
        "is not a plain file",
    ),
    "device": (packed(member("r/x", type=tarfile.CHRTYPE)), "is not a plain file"),
    "long header": (
        packed(member("r/" + "x" * 5000, b"x"), form=tarfile.PAX_FORMAT),
        "is not a plain file",
    ),
    "huge": (gzip.compress(member("r/x", size=2**60)[0].tobuf(tarfile.GNU_FORMAT)), "more than"),
    "negative": (
        gzip.compress(member("r/x", size=-1)[0].tobuf(tarfile.GNU_FORMAT)),
        "has a size below zero",
    ),
    "two folders": (packed(GOOD, member("s/a", b"a")), "'s/a' is in another folder than 'r'"),
    "set user id": (packed(member("r/bin/a", b"a", mode=0o4755)), "'r/bin/a' has the mode 4755"),
    "below a file": (
        packed(GOOD, member("r/bin/a/b", b"b", mode=0o755)),
        "belongs to a file and to a",
    ),
    "deep below a file": (
        packed(GOOD, member("r/bin/a/b/c", b"c", mode=0o755)),
        "belongs to a file and to a folder",
    ),
    "twice": (packed(GOOD, GOOD), "'bin/a' is in it twice"),
    "more": (
        gzip.compress(gzip.decompress(packed(GOOD)) + b"more" * 128),
        "something follows its last file",
    ),
}


def test_names_do_not_depend_on_the_locale(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tarfile.TarFile, "encoding", "iso8859-9")
    write_archive([from_text("share/öğün.yaml", "x\n")], tmp_path / "a.tar.gz")

    with open_release(tmp_path / "a.tar.gz") as folder:
        assert (folder / "share/öğün.yaml").read_text(encoding="utf-8") == "x\n"


def test_a_path_that_does_not_fit_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is too long a path for an archive"):
        write_archive([from_text(f"share/{'x' * 101}", "x\n")], tmp_path / "a.tar.gz")
    assert [*tmp_path.iterdir()] == []


def test_one_that_cannot_be_read_is_a_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk that it would be unpacked to is not to blame."""
    write_archive(FILES, tmp_path / "a.tar.gz")

    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("megtrim.libs.util.input_files.os.open", refuse)
    with (
        pytest.raises(InputError, match=r"a\.tar\.gz: cannot be read: Permission denied"),
        open_release(tmp_path / "a.tar.gz"),
    ):
        pass


@pytest.mark.parametrize("name", DAMAGES)
def test_what_is_none_is_refused(name: str, tmp_path: Path) -> None:
    data, said = DAMAGES[name]
    path = tmp_path / "camera-1.4.tar.gz"
    path.write_bytes(data)

    with pytest.raises(ProductFailure, match=said), open_release(path):
        pass


@pytest.fixture(params=[0o000, 0o022, 0o077])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    every = {".": folder, **{str(each.relative_to(folder)): each for each in folder.rglob("*")}}
    return {name: stat.S_IMODE(each.stat().st_mode) for name, each in every.items()}


def test_modes_are_the_same_for_everyone(umask: int, tmp_path: Path) -> None:
    """Whatever that of the source is; an empty folder is taken."""
    (tmp_path / "release").mkdir(mode=0o700)
    source = tmp_path / "source"
    source.write_text("x", encoding="utf-8")
    source.chmod(0o600)
    write_folder([*FILES, from_path("bin/x", source)], tmp_path / "release")

    places = (".", "bin", "bin/run", "bin/x", "share", "share/a")
    assert modes(tmp_path / "release") == dict.fromkeys(places, 0o755) | {"share/a/b.txt": 0o644}
    assert (tmp_path / "release/bin/run").read_text(encoding="utf-8") == "run\n"


@pytest.mark.parametrize("kind", ["folder", "file", "link"])
def test_nothing_is_overwritten(kind: str, tmp_path: Path) -> None:
    there = tmp_path / "release.tar.gz"
    match kind:
        case "folder":
            (there / "mine").mkdir(parents=True)
        case "file":
            there.write_text("mine", encoding="utf-8")
        case _:
            there.symlink_to(tmp_path / "elsewhere")
    for write_to in (expect_new, partial(write_archive, FILES)):
        with pytest.raises(InputError, match="exists already"):
            write_to(there)


@pytest.mark.parametrize("write_to", [write_archive, write_folder])
def test_what_changes_meanwhile_leaves_nothing(write_to: Any, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.write_text("before", encoding="utf-8")
    file = from_path("bin/x", source)
    source.write_text("after", encoding="utf-8")

    with pytest.raises(InfrastructureFailure, match="changed while the release was written"):
        write_to([*FILES, file], tmp_path / "a.tar.gz")
    assert [each.name for each in tmp_path.iterdir()] == ["source"]


def test_a_disk_that_takes_nothing_is_no_fault_of_the_product(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(InfrastructureFailure, match="cannot be written"):
        write_folder(FILES, tmp_path / "file" / "release")
