import hashlib
import io
import os
import tarfile
from pathlib import Path

import pytest
from host.items import UNPACKED, Facts, Item, Refusal, file, look, make, runner

FILE = {"owner": "root", "content": "a\nb\nc\n"}
SHELL = "shell: found /bin/bash, expected /usr/sbin/nologin"


@pytest.mark.parametrize(
    ("desired", "actual", "lines"),
    [
        ({"state": "installed"}, None, ("missing",)),
        ({"state": "installed"}, {"state": "installed"}, ()),
        ({"shell": "/usr/sbin/nologin"}, {"shell": "/bin/bash"}, (SHELL,)),
        ({"mode": "0700"}, {}, ("mode: found nothing, expected 0700",)),
        (FILE, {"owner": "root", "content": "a\nB\nc\n"}, ("content differs", "-B", "+b")),
        (None, None, ()),
        (None, {}, ("not needed any more",)),
        ({"at boot": "enabled"}, {"at boot": "enabled", "now": "failed"}, ()),
    ],
)
def test_a_difference_says_what_was_found(
    desired: Facts | None, actual: Facts | None, lines: tuple[str, ...]
) -> None:
    item = Item(name="x", desired=desired, read=lambda: actual, make=None)

    assert item.list_differences() == lines


def apply(item: Item) -> None:
    assert item.make
    item.make()


def pack(path: Path, name: str = "./run.sh") -> str:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = 2, 0o755
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(entry, io.BytesIO(b"#!"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_gets_content_and_mode_and_replaces_a_link(tmp_path: Path) -> None:
    """A link is not followed: what it leads to is someone else's."""
    other = tmp_path / "other"
    other.write_text("theirs", encoding="utf-8")
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.symlink_to(other)
    apply(file(path, "ours\n", "0755"))

    assert other.read_text(encoding="utf-8") == "theirs"
    assert not path.is_symlink()
    assert path.read_text(encoding="utf-8") == "ours\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_file_that_cannot_be_put_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(OSError, match="file"):
        apply(file(path, "x"))

    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_root_makes_is_for_others_to_read(tmp_path: Path) -> None:
    """Also where root's own files are for no one else: the jobs' user starts these programs."""
    before = os.umask(0o077)
    try:
        make("mkdir", str(tmp_path / "libraries"))
    finally:
        os.umask(before)

    assert (tmp_path / "libraries").stat().st_mode & 0o777 == 0o755


def test_a_program_that_fails_is_reported_completely() -> None:
    with pytest.raises(Refusal, match=r"this ended with 7: sh -c 'echo no; exit 7'\nno") as refused:
        make("sh", "-c", "echo no; exit 7")

    assert refused.value.rc == 3
    assert look("no-such-program")[0] == 127


def test_a_runner_is_unpacked_and_marked(tmp_path: Path) -> None:
    """The mark comes last: without it the folder counts as half made."""
    digest = pack(tmp_path / "a.tar.gz")
    folder = tmp_path / "runner"
    item = runner(folder, tmp_path / "a.tar.gz", digest)
    apply(item)

    assert item.list_differences() == ()
    assert os.access(folder / "run.sh", os.X_OK)
    assert sorted(path.name for path in folder.iterdir()) == ["run.sh", UNPACKED]


@pytest.mark.parametrize(
    ("member", "digest", "message"),
    [
        ("./run.sh", "0" * 64, r"found sha256 [0-9a-f]{64}, expected 0000"),
        ("./README", "", r"found no run\.sh"),
    ],
)
def test_another_archive_is_refused(tmp_path: Path, member: str, digest: str, message: str) -> None:
    found = pack(tmp_path / "a.tar.gz", member)
    with pytest.raises(Refusal, match=message) as refused:
        apply(runner(tmp_path / "runner", tmp_path / "a.tar.gz", digest or found))

    assert refused.value.rc == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]
