"""Make one item what it should be. Files come whole or not at all, with owner and mode."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import assert_never

from host.commands import make
from host.items import AdbServer, File, Folder, Given, Item, Kit, Old, Package, Runner, Unit, User
from host.machine import UNPACKED, strong_groups
from host.refusal import Refusal


def put_right(item: Item) -> None:
    """Change this machine. Raises Refusal and OSError."""
    match item:
        case Package():
            _package(item)
        case User():
            _user(item)
        case Folder():
            _folder(item)
        case File():
            _file(item)
        case Runner():
            unpack(item)
        case Kit():
            env = {"XDG_CACHE_HOME": str(item.cache), "HOME": "/root"}
            make("/usr/bin/python3", str(item.script), env=env)
        case Unit() | AdbServer():
            _service(item)
        case Old():
            shutil.rmtree(item.path)
        case Given():
            msg = f"{item}: {item.hint}"
            raise Refusal(msg, rc=2)
        case _:
            assert_never(item)


def _package(item: Package) -> None:
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-qq", "-o", "Acquire::Retries=3")
    make(*apt, "update", env=env)
    make(*apt, "install", "-y", "--no-install-recommends", item.name, env=env)


def _user(item: User) -> None:
    words = ("--home-dir", str(item.home), "--shell", "/usr/sbin/nologin")
    groups = strong_groups(item.name)
    if groups is None:
        options = ("--system", "--user-group", "--no-create-home")
        make("useradd", *options, *words, item.name)
        return
    make("usermod", "--home", *words[1:], "--lock", item.name)
    for group in groups:
        make("gpasswd", "--delete", item.name, group)


def _folder(item: Folder) -> None:
    item.path.mkdir(parents=True, exist_ok=True)
    shutil.chown(item.path, item.owner, item.group)
    item.path.chmod(int(item.mode, 8))


def _file(item: File) -> None:
    item.path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=item.path.parent, prefix=".megtrim-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(item.content)
            os.fchmod(descriptor, int(item.mode, 8))
            os.fsync(descriptor)
        Path(made).replace(item.path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def digest(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpack(item: Runner) -> None:
    """Unpack the archive beside its place, and only then call it by its name."""
    part = item.path.with_name(f".{item.path.name}")
    copy = part / "archive.tar.gz"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o755)
    # A copy is checked and unpacked: what lies at the given path could change in between.
    shutil.copyfile(item.archive, copy)
    if digest(copy) != item.sha256:
        msg = f"{item.archive}: found sha256 {digest(copy)}, expected {item.sha256}"
        shutil.rmtree(part)
        raise Refusal(msg, rc=2)
    make("tar", "-xzf", str(copy), "--no-same-owner", "-C", str(part))
    copy.unlink()
    if not (part / "run.sh").is_file():
        shutil.rmtree(part)
        msg = f"{item.archive}: found no run.sh in it, expected GitHub's runner for Linux"
        raise Refusal(msg, rc=2)
    (part / UNPACKED).write_text(item.sha256, encoding="ascii")
    shutil.rmtree(item.path, ignore_errors=True)
    part.replace(item.path)


def _service(item: Unit | AdbServer) -> None:
    if isinstance(item, AdbServer):
        make("systemctl", "restart", "megtrim-adb.service")
        return
    if not item.at_boot:
        # The job that it may run ends first; the host's drain is for those who wait for it.
        make("systemctl", "disable", item.name)
        return
    make("systemctl", "enable", item.name)
    if item.running:
        make("systemctl", "start", "--no-block", item.name)
