"""Put an Android NDK into place while the image is made: from an archive, or the one given.

    fetch_ndk.py GIVEN TARGET URL SHA256

GIVEN holds an NDK, or only the recipe's README.md. If there is a URL, its archive is downloaded,
checked against its sha256 and unpacked. If an argument is wrong, exits with 2 and one line that
starts with ``megtrim: ``. It needs little more than Python.
"""

from __future__ import annotations

import hashlib
import http.client
import shutil
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

GIVEN_WRONGLY = 2
NO_ARCHIVE = 3
LAYOUT = ("source.properties", "build/cmake/android.toolchain.cmake")
PLACEHOLDER = "README.md"
CHUNK_BYTES = 1024 * 1024
SILENCE_S = 60


class Refusal(Exception):
    def __init__(self, text: str, status: int = GIVEN_WRONGLY) -> None:
        super().__init__(text)
        self.status = status


def expect_address(url: str) -> None:
    """An address without a server fails at once: a retry would not help."""
    try:
        parts = urllib.parse.urlsplit(url)
        right = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        right = False
    if not right:
        msg = f"{url}: expected the http(s) address of an archive"
        raise Refusal(msg)


def load(url: str, sha256: str, archive: Path) -> None:
    """Download the archive, and verify its checksum before it is opened."""
    expect_address(url)
    digest = hashlib.sha256()
    try:
        with urllib.request.urlopen(url, timeout=SILENCE_S) as answer, archive.open("wb") as kept:
            while chunk := answer.read(CHUNK_BYTES):
                digest.update(chunk)
                kept.write(chunk)
    except urllib.error.HTTPError as error:
        status = NO_ARCHIVE if error.code >= 500 else GIVEN_WRONGLY
        msg = f"{url}: the server answered {error.code}"
        raise Refusal(msg, status) from None
    except (ValueError, http.client.InvalidURL) as error:
        msg = f"{url}: {error}"
        raise Refusal(msg) from None
    except (OSError, http.client.HTTPException) as error:
        msg = f"{url}: {error}"
        raise Refusal(msg, NO_ARCHIVE) from None
    if digest.hexdigest() != sha256.lower():
        size_bytes = archive.stat().st_size
        found = f"found sha256 {digest.hexdigest()} of {size_bytes} bytes"
        msg = f"{url}: {found}, expected {sha256}"
        raise Refusal(msg)


def unpack(archive: Path, folder: Path) -> Path:
    # unzip keeps links and modes; Python's zipfile does not.
    told = subprocess.run(
        ("unzip", "-q", str(archive), "-d", str(folder)), capture_output=True, check=False
    )
    if told.returncode != 0:
        msg = f"the archive cannot be unpacked: unzip ended with {told.returncode}"
        raise Refusal(msg)
    archive.unlink()
    inside = sorted(folder.iterdir())
    return inside[0] if len(inside) == 1 and inside[0].is_dir() else folder


def expect_layout(ndk: Path, source: str) -> None:
    for name in LAYOUT:
        if not (ndk / name).is_file():
            msg = f"{source} is no Android NDK: it has no {name}"
            raise Refusal(msg)


def main(given: Path, target: Path, url: str, sha256: str) -> None:
    if url:
        work = target.parent / "unpacked"
        work.mkdir(parents=True)
        archive = target.parent / "archive.zip"
        load(url, sha256, archive)
        found = unpack(archive, work)
        source = url
    elif any(path.name != PLACEHOLDER for path in given.iterdir()):
        found = given
        source = "the folder"
    else:
        msg = "no NDK was given: name a folder, or an archive and its sha256"
        raise Refusal(msg)
    expect_layout(found, source)
    # A folder of an earlier layer cannot be renamed; this copies it then.
    shutil.move(found, target)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
    except Refusal as refusal:
        sys.stdout.write(f"megtrim: {refusal}\n")
        sys.exit(refusal.status)
