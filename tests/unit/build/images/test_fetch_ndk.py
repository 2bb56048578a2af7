"""The script that puts an NDK into place while an image is made, run as the recipe runs it.

A small program plays unzip, which machines of tests may lack; the lane ``images`` has the real one.
"""

import hashlib
import os
import sys
import zipfile
from pathlib import Path

import pytest
from pytest_httpserver import HTTPServer

from megtrim.build.images.docker import recipes
from megtrim.util.process import Command, CompletedCommand, ProcessRunner

SCRIPT = recipes() / "android-arm64" / "fetch_ndk.py"


def make_ndk(folder: Path) -> Path:
    (folder / "build" / "cmake").mkdir(parents=True)
    (folder / "build" / "cmake" / "android.toolchain.cmake").touch()
    (folder / "source.properties").write_text("Pkg.Revision = 21.4.1\n", encoding="utf-8")
    (folder / "link").symlink_to("source.properties")
    return folder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "given").mkdir()
    (tmp_path / "got").mkdir()
    (tmp_path / "bin").mkdir()
    unzip = tmp_path / "bin" / "unzip"
    unzip.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" -m zipfile -e "$2" "$4"\n', encoding="utf-8"
    )
    unzip.chmod(0o755)
    return tmp_path


def run(place: Path, url: str = "", sha256: str = "") -> CompletedCommand:
    argv = (sys.executable, "-B", str(SCRIPT), str(place / "given"), str(place / "got" / "ndk"))
    env = {"PATH": f"{place / 'bin'}:{os.environ['PATH']}"}
    return ProcessRunner(os.environ).run(Command(argv=(*argv, url, sha256), env=env, timeout_s=60))


def zipped(ndk: Path, top: str) -> bytes:
    path = ndk.parent / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(ndk.rglob("*")):
            if file.is_file() and not file.is_symlink():
                archive.write(file, f"{top}{file.relative_to(ndk)}")
    return path.read_bytes()


def test_a_given_ndk_is_put_into_place(place: Path) -> None:
    make_ndk(place / "given")
    outcome = run(place)

    assert (outcome.rc, outcome.stdout) == (0, "")
    assert (place / "got" / "ndk" / "link").readlink() == Path("source.properties")


@pytest.mark.parametrize("top", ["android-ndk-r21e/", ""])
def test_an_archive_is_checked_and_unpacked(place: Path, httpserver: HTTPServer, top: str) -> None:
    data = zipped(make_ndk(place / "ndk"), top)
    httpserver.expect_request("/ndk.zip").respond_with_data(data)
    url = httpserver.url_for("/ndk.zip")
    sha256 = hashlib.sha256(data).hexdigest()
    outcome = run(place, url, sha256.upper())

    assert (outcome.rc, outcome.stdout) == (0, "")
    assert (place / "got" / "ndk" / "source.properties").is_file()
    assert not (place / "got" / "archive.zip").exists()


def test_another_checksum(place: Path, httpserver: HTTPServer) -> None:
    data = zipped(make_ndk(place / "ndk"), "a/")
    httpserver.expect_request("/ndk.zip").respond_with_data(data)
    outcome = run(place, httpserver.url_for("/ndk.zip"), "0" * 64)

    found = f"found sha256 {hashlib.sha256(data).hexdigest()} of {len(data)} bytes"
    assert outcome.rc == 2
    assert outcome.stdout == (
        f"megtrim: {httpserver.url_for('/ndk.zip')}: {found}, expected {'0' * 64}\n"
    )
    assert not any((place / "got" / "unpacked").iterdir())


def test_what_is_no_ndk(place: Path, httpserver: HTTPServer) -> None:
    nothing = run(place)
    (place / "given" / "readme").touch()
    folder = run(place)
    data = b"no archive"
    httpserver.expect_request("/x.zip").respond_with_data(data)
    archive = run(place, httpserver.url_for("/x.zip"), hashlib.sha256(data).hexdigest())

    said = "megtrim: no NDK was given: name a folder, or an archive and its sha256\n"
    assert (nothing.rc, nothing.stdout) == (2, said)
    said = "megtrim: the folder is no Android NDK: it has no source.properties\n"
    assert (folder.rc, folder.stdout) == (2, said)
    assert (archive.rc, "cannot be unpacked: unzip ended with" in archive.stdout) == (2, True)


@pytest.mark.parametrize(("status", "rc"), [(404, 2), (403, 2), (503, 3)])
def test_a_server_that_says_no(place: Path, httpserver: HTTPServer, status: int, rc: int) -> None:
    httpserver.expect_request("/ndk.zip").respond_with_data(b"", status=status)
    outcome = run(place, httpserver.url_for("/ndk.zip"), "0" * 64)
    assert (outcome.rc, f"the server answered {status}" in outcome.stdout) == (rc, True)


@pytest.mark.parametrize(
    ("url", "rc"),
    [
        ("http://127.0.0.1:1/x", 3),
        *(("nonsense", 2), ("http:///x", 2), ("foo://h/x", 2), ("http://h:x/y", 2)),
        *(("file:///etc/passwd", 2), ("http://[x/y", 2), ("http://127.0.0.1:1/a b", 2)),
    ],
)
def test_no_one_there(place: Path, url: str, rc: int) -> None:
    outcome = run(place, url, "0" * 64)
    assert outcome.rc == rc
    assert outcome.stdout.startswith(f"megtrim: {url}: ")
    assert outcome.stderr == ""
