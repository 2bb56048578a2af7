import hashlib
import json
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from images.conftest import LINUX, built, recipe_with
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.images.docker import DockerClient, recipes

TAG = "megtrim-images-test:tried"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_args: object) -> None:
        return


@pytest.fixture
def archives(
    docker: DockerClient, processes: ProcessRunner, tmp_path: Path
) -> Iterator[tuple[Path, str]]:
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
    with zipfile.ZipFile(archive, "w") as kept:
        for path in sorted(source.rglob("*")):
            name = f"android-ndk-r21e/{path.relative_to(source)}"
            if path.is_symlink():
                entry = zipfile.ZipInfo(name)
                entry.create_system = 3
                entry.external_attr = 0o120777 << 16
                kept.writestr(entry, str(path.readlink()))
            elif path.is_file():
                kept.write(path, name)
    return hashlib.sha256(archive.read_bytes()).hexdigest()


def test_a_second_build_builds_nothing(docker: DockerClient, base: str, linux_image: str) -> None:
    before = docker.image(linux_image)
    started = time.monotonic()
    again = built(recipes() / "linux-arm64", LINUX, f"BASE={base}")

    assert again == before.id == before.identity
    assert time.monotonic() - started < 30


def test_an_ndk_in_its_place(
    docker: DockerClient, android_image: str, standin: Path, tmp_path: Path
) -> None:
    made = docker.image(android_image)
    assert made.env["ANDROID_NDK_ROOT"] == "/opt/android-ndk"
    look = ("run", "--rm", "--network", "none", made.id, "sh", "-c")
    text = docker.check_output(*look, "cat $ANDROID_NDK_ROOT/source.properties")
    assert text == (standin / "source.properties").read_text("utf-8")

    (tmp_path / "none").mkdir()
    (tmp_path / "none/file").touch()
    recipe = recipe_with(tmp_path / "none", tmp_path / "recipe")
    said = built(recipe, TAG, f"BASE={LINUX}", fails=True)
    assert "megtrim: the folder is no Android NDK: it has no source.properties" in said


def test_an_ndk_from_an_archive(
    docker: DockerClient, android_image: str, standin: Path, archives: tuple[Path, str]
) -> None:
    """It is loaded and held to its checksum; neither stays in the image."""
    folder, url = archives
    sha256 = zipped(standin, folder / "ndk.zip")
    recipe = recipes() / "android-arm64"
    address = f"NDK_URL={url}/ndk.zip"
    made = docker.image(built(recipe, TAG, f"BASE={LINUX}", address, f"NDK_SHA256={sha256}"))
    look = ("run", "--rm", "--network", "none", made.id, "sh", "-c")
    listing = "find / -xdev -name '*.zip' -o -name fetch_ndk.py; cat $ANDROID_NDK_ROOT/source.prop*"
    links = "readlink $ANDROID_NDK_ROOT/toolchains/llvm/prebuilt/linux-x86_64/bin/clang"

    assert docker.check_output(*look, listing) == (standin / "source.properties").read_text("utf-8")
    assert docker.check_output(*look, links) == "/usr/bin/clang-14\n"

    wrong = built(recipe, TAG, f"BASE={LINUX}", address, f"NDK_SHA256={'0' * 64}", fails=True)
    assert f"megtrim: {url}/ndk.zip: found sha256 {sha256} of" in wrong
    gone = (f"NDK_URL={url}/gone.zip", f"NDK_SHA256={sha256}")
    assert "gone.zip: the server answered 404" in built(
        recipe, TAG, f"BASE={LINUX}", *gone, fails=True
    )
