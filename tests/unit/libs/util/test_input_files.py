import hashlib
import json
import os
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import astuple
from pathlib import Path

import pytest

from megtrim.libs.util import files as util_files
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import (
    expect_merged,
    kind_at,
    open_plain_file,
    read_bytes,
    read_text,
)

POINTER = (
    b"version https://git-lfs.github.com/spec/v1\n"
    b"oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
)


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        read_bytes(path, most_bytes=100, expected="a model", shown="m.mge", hint="name one")
    return caught.value


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (Path.mkdir, "a folder"),
        (os.mkfifo, "a pipe"),
        (make_socket, "a socket"),
        (lambda path: path.symlink_to("/dev/zero"), "a device"),
    ],
    ids=["folder", "pipe", "socket", "device"],
)
def test_what_is_no_file_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make: Callable[[Path], None], kind: str
) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path is short
    make(Path("it"))

    assert kind_at(Path("it")) == kind
    error = refusal(Path("it"))
    assert error.message == f"m.mge: found {kind}, expected a model"
    assert error.hint == "name one"


def test_a_pipe_of_just_now_is_not_awaited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = tmp_path / "pipe"
    file = tmp_path / "file"
    os.mkfifo(pipe)
    file.touch()
    monkeypatch.setattr(Path, "stat", lambda _path, **_: os.stat(file))  # noqa: PTH116 - this one
    with ThreadPoolExecutor(1) as pool:
        refused = pool.submit(refusal, pipe)
        done, _ = wait([refused], timeout=10)
        # Who waits for someone to write would wait for ever, and this test with it.
        os.close(os.open(pipe, os.O_RDWR | os.O_NONBLOCK))

    assert done
    assert refused.result().message == "m.mge: found a pipe, expected a model"


def test_a_path_that_leads_nowhere_is_shown(tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    (tmp_path / "file").touch()

    for path, said, kind in (
        (circle, "cannot be read: Too many levels of symbolic links", "a path that leads nowhere"),
        (tmp_path / "gone", "cannot be read: No such file or directory", "no such file"),
        (tmp_path / "file/x", "cannot be read: Not a directory", "a path that leads nowhere"),
        (tmp_path / ("x" * 300), "cannot be read: File name too long", "a path that leads nowhere"),
        (tmp_path / "x\x00y", "found no path, expected a model", "no path"),
        (tmp_path / "\ud800", "found no path, expected a model", "no path"),
    ):
        assert refusal(path).message == f"m.mge: {said}"
        assert kind_at(path).startswith(kind)


@pytest.mark.skipif(os.getuid() == 0, reason="root reads everything")
def test_a_file_that_may_not_be_read_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    path.touch(mode=0)

    assert refusal(path).message == "m.mge: cannot be read: Permission denied"


def test_size_is_looked_at_first(tmp_path: Path) -> None:
    """A file of a terabyte is refused without being read; one without a size is bounded, too."""
    path = tmp_path / "huge"
    path.write_bytes(b"x" * 100)
    assert read_bytes(path, most_bytes=100, expected="a model") == b"x" * 100
    os.truncate(path, 2**40)

    for large in (path, Path("/proc/self/smaps")):
        assert refusal(large).message == "m.mge: found more than 100 bytes, expected a model"


def test_a_pointer_is_no_file(tmp_path: Path) -> None:
    path = tmp_path / "m.mge"
    path.write_bytes(POINTER)

    with (
        pytest.raises(InputError) as caught,
        open_plain_file(path, expected="a model", shown="models/m.mge", hint="name one"),
    ):
        pass
    assert caught.value.message == "models/m.mge is a Git LFS pointer, expected a model"
    assert caught.value.hint == "fetch the file itself: git lfs pull"


def test_what_only_begins_like_a_pointer_is_read(tmp_path: Path) -> None:
    """A pointer has less than 1024 bytes; and all of a file is read, its beginning too."""
    path = tmp_path / "file"
    for data in (POINTER + b"x" * 1024, POINTER[:-90].replace(b"spec", b"spek"), b"", b"v"):
        path.write_bytes(data)
        assert read_bytes(path, most_bytes=2000, expected="a file") == data


def test_text_is_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes("a\nä".encode())
    assert read_text(path, most_bytes=100, expected="a text") == "a\nä"
    path.write_bytes(b"a\nb\xe4")

    with pytest.raises(InputError) as caught:
        read_text(path, most_bytes=100, expected="a text", shown="f", hint="mend it")
    said = "f:2: found the byte 0xe4, which is not UTF-8, expected text"
    assert str(caught.value) == f"{said}\n  mend it"


CONFLICT = "a\n<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> branch\nd\n"


@pytest.mark.parametrize(("text", "line"), [(CONFLICT, 2), ("<<<<<<<\n=======\n>>>>>>>\n", 1)])
def test_a_merge_that_no_one_resolved_is_named(text: str, line: int) -> None:
    with pytest.raises(InputError) as caught:
        expect_merged(text, shown="f", hint="keep both")
    assert str(caught.value) == f"f:{line}: found an unresolved merge conflict\n  keep both"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "<<<<<<< HEAD\n",
        ">>>>>>> x\n<<<<<<< y\n",
        " <<<<<<< HEAD\n >>>>>>> x\n",
        "<<<<<<<<\n>>>>>>>>\n",
    ],
)
def test_what_merely_looks_so_is_none(text: str) -> None:
    expect_merged(text, shown="f")


TEXT = b"result"
SHA256 = hashlib.sha256(TEXT).hexdigest()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(TEXT)
    return path


@pytest.fixture
def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a minute have passed since the file was written."""
    later = time.time_ns() + 60_000_000_000
    monkeypatch.setattr(time, "time_ns", lambda: later)


def test_a_file_that_has_just_changed_is_not_known_yet(file: Path) -> None:
    """It may change again within one tick of the disk's clock, and no one could tell."""
    assert util_files.read_damage(file.parent, {"file": SHA256}) == ("", {})
    assert not (file.parent / util_files.MEMORY).exists()


@pytest.mark.usefixtures("settled")
def test_a_settled_file_is_remembered(file: Path) -> None:
    found = util_files.read_damage(file.parent, {"file": SHA256})

    said = file.stat()
    times = (said.st_mtime_ns, said.st_ctime_ns)
    expected = util_files.KnownDigests(SHA256, len(TEXT), said.st_ino, *times)
    assert found == ("", {"file": expected})
    memory = (file.parent / util_files.MEMORY).read_text(encoding="utf-8")
    assert json.loads(memory) == {"file": list(astuple(expected))}


@pytest.mark.usefixtures("settled")
def test_nothing_is_left_that_is_not_remembered(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "replace", refuse)

    assert util_files.read_damage(file.parent, {"file": SHA256})[0] == ""
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.usefixtures("settled")
@pytest.mark.parametrize("sha256", ["0" * 64, ""])
def test_another_digest_is_damage(file: Path, sha256: str) -> None:
    assert util_files.read_damage(file.parent, {"file": SHA256})[1]

    assert util_files.read_damage(file.parent, {"file": sha256}) == ("file", {})
    assert util_files.read_known(file, sha256) is None


def test_a_file_that_changes_meanwhile_is_not_known(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = util_files._digest

    def slow(path: Path) -> str:
        found = real(path)
        path.write_bytes(b"other!")
        return found

    monkeypatch.setattr(util_files, "_digest", slow)

    assert util_files.read_known(file, SHA256) is None


def test_a_text_too_large_is_not_loaded(file: Path) -> None:
    os.truncate(file, 17 * 1024 * 1024)

    with pytest.raises(ValueError, match="not a plain file of reasonable size"):
        util_files.load_text(file)


def test_a_small_file_takes_little_memory(tmp_path: Path) -> None:
    """However large it may be: a limit of 4 GiB is not set aside for a model of three bytes."""
    (tmp_path / "m").write_bytes(b"abc")

    assert read_bytes(tmp_path / "m", most_bytes=2**60, expected="a model") == b"abc"
    assert read_bytes(Path("/proc/self/stat"), most_bytes=10_000, expected="a text")
