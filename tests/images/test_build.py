"""Images made by the command line: from what, how often, and what is refused."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from images.conftest import ANDROID, LINUX, built
from megtrim.images.docker import DockerClient
from megtrim.process import ProcessRunner
from support.fork_server import run_megtrim
from support.standin_ndk import make_standin_ndk

TAG = "megtrim-images-test:tried"


class Quiet(SimpleHTTPRequestHandler):
    """Serves files, and says nothing."""

    def log_message(self, *_args: object) -> None:
        return


@pytest.fixture
def archives(
    docker: DockerClient, processes: ProcessRunner, tmp_path: Path
) -> Iterator[tuple[Path, str]]:
    """A folder, and where containers that are being built find it."""
    # A daemon at its first start reports no gateway; the interface has its address.
    name = '{{index .Options "com.docker.network.bridge.name"}}'
    bridge = docker.check_output("network", "inspect", "bridge", "--format", name).strip()
    reported = processes.capture("ip", "-json", "-4", "address", "show", "dev", bridge)
    gateway = json.loads(reported)[0]["addr_info"][0]["local"]
    folder = tmp_path / "archives"
    folder.mkdir()
    with ThreadingHTTPServer((gateway, 0), partial(Quiet, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield folder, f"http://{gateway}:{server.server_port}"
        server.shutdown()


def zipped(source: Path, archive: Path) -> str:
    """Make an archive as NDKs come, links kept; return its sha256."""
    with zipfile.ZipFile(archive, "w") as kept:
        for path in sorted(source.rglob("*")):
            name = f"android-ndk-r21e/{path.relative_to(source)}"
            if path.is_symlink():
                entry = zipfile.ZipInfo(name)
                entry.create_system, entry.external_attr = 3, 0o120777 << 16
                kept.writestr(entry, str(path.readlink()))
            elif path.is_file():
                kept.write(path, name)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_second_build_builds_nothing(docker: DockerClient, base: str, linux_image: str) -> None:
    """Equal things give the same image, in the time of a look."""
    before = docker.image(linux_image)
    started = time.monotonic()
    again = built("linux-arm64", "--base", base, "--tag", LINUX)

    assert again == before.id == before.identity
    assert time.monotonic() - started < 30


def test_an_ndk_is_its_content(
    docker: DockerClient, android_image: str, standin: Path, tmp_path: Path
) -> None:
    """Another folder, another date, another umask: the same image. Another release: another."""
    copied = tmp_path / "copied"
    shutil.copytree(standin, copied, symlinks=True)
    for path in (copied, *copied.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o700 if path.is_dir() else 0o600)
            os.utime(path, (1, 1))
    other = make_standin_ndk(tmp_path / "other", revision="20.1.5948944")
    words = ("android-arm64", "--base", LINUX, "--tag", TAG)
    first = docker.image(android_image)

    assert built(*words, "--ndk", str(copied)) == first.id
    assert built(*words, "--ndk", str(other)) != first.id
    assert first.env["ANDROID_NDK_ROOT"] == "/opt/android-ndk"
    assert docker.image(ANDROID).id == first.id


def test_an_ndk_from_an_archive(
    docker: DockerClient,
    android_image: str,
    standin: Path,
    archives: tuple[Path, str],
    tmp_path: Path,
) -> None:
    """It is loaded and held to its checksum; neither stays in the image."""
    folder, url = archives
    sha256 = zipped(standin, folder / "ndk.zip")
    words: tuple[str, ...] = ("android-arm64", "--base", LINUX, "--tag", TAG)
    words = (*words, "--ndk-url", f"{url}/ndk.zip")
    made = docker.image(built(*words, "--ndk-sha256", sha256))
    look = ("run", "--rm", "--network", "none", made.id, "sh", "-c")
    listing = "find / -xdev -name '*.zip' -o -name fetch_ndk.py; cat $ANDROID_NDK_ROOT/source.prop*"
    links = "readlink $ANDROID_NDK_ROOT/toolchains/llvm/prebuilt/linux-x86_64/bin/clang"

    assert docker.check_output(*look, listing) == (standin / "source.properties").read_text("utf-8")
    assert docker.check_output(*look, links) == "/usr/bin/clang-14\n"

    wrong = run_megtrim("images", "build", *words, "--ndk-sha256", "0" * 64)
    assert wrong.rc == 2
    assert wrong.stderr.splitlines()[-1] == (
        f"megtrim: the image android-arm64 cannot be built: {url}/ndk.zip: found sha256 {sha256} "
        f"of {(folder / 'ndk.zip').stat().st_size} bytes, expected {'0' * 64}"
    )

    (folder / "none").mkdir()
    (folder / "none" / "readme").write_text("no NDK", encoding="utf-8")
    other = zipped(folder / "none", folder / "other.zip")
    words = (*words[:-1], f"{url}/other.zip", "--ndk-sha256", other)
    layout = run_megtrim("images", "build", *words)
    assert layout.rc == 2
    assert layout.stderr.endswith("is no Android NDK: it has no source.properties\n")

    words = (*words[:-3], f"{url}/gone.zip", "--ndk-sha256", other)
    gone = run_megtrim("images", "build", *words)
    assert (gone.rc, "gone.zip: the server answered 404" in gone.stderr) == (2, True)


def test_no_daemon(base: str, tmp_path: Path) -> None:
    """It is the infrastructure's failure; a base that is nowhere is whoever's who named it."""
    words = ("images", "build", "linux-arm64", "--base")
    none = run_megtrim(*words, base, env={"DOCKER_HOST": f"unix://{tmp_path}/none"})
    unknown = run_megtrim(*words, "no-such:tag")

    assert (none.rc, "no Docker daemon answers" in none.stderr) == (3, True)
    assert (unknown.rc, "a tag may be another image tomorrow" in unknown.stderr) == (2, True)
