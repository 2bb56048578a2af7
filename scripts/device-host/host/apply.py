"""Makes one resource what it should be. Files are written completely or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import assert_never

from host.commands import make
from host.errors import Refusal
from host.machine import UNPACKED, strong_groups
from host.resources import (
    AdbServer,
    File,
    Folder,
    Kit,
    Old,
    Package,
    Prerequisite,
    Resource,
    Runner,
    Unit,
    User,
)


def apply(resource: Resource) -> None:
    """Change this machine. Raises Refusal and OSError."""
    match resource:
        case Package():
            _package(resource)
        case User():
            _user(resource)
        case Folder():
            _folder(resource)
        case File():
            _file(resource)
        case Runner():
            unpack(resource)
        case Kit():
            env = {"XDG_CACHE_HOME": str(resource.cache), "HOME": "/root"}
            make("/usr/bin/python3", str(resource.script), env=env)
        case Unit() | AdbServer():
            _service(resource)
        case Old():
            shutil.rmtree(resource.path)
        case Prerequisite():
            msg = f"{resource}: {resource.hint}"
            raise Refusal(msg, rc=2)
        case _:
            assert_never(resource)


def _package(resource: Package) -> None:
    env = {"DEBIAN_FRONTEND": "noninteractive"}
    apt = ("apt-get", "-qq", "-o", "Acquire::Retries=3")
    make(*apt, "update", env=env)
    make(*apt, "install", "-y", "--no-install-recommends", resource.name, env=env)


def _user(resource: User) -> None:
    words = ("--home-dir", str(resource.home), "--shell", "/usr/sbin/nologin")
    groups = strong_groups(resource.name)
    if groups is None:
        options = ("--system", "--user-group", "--no-create-home")
        make("useradd", *options, *words, resource.name)
        return
    make("usermod", "--home", *words[1:], "--lock", resource.name)
    for group in groups:
        make("gpasswd", "--delete", resource.name, group)


def _folder(resource: Folder) -> None:
    resource.path.mkdir(parents=True, exist_ok=True)
    shutil.chown(resource.path, resource.owner, resource.group)
    resource.path.chmod(int(resource.mode, 8))


def _file(resource: File) -> None:
    resource.path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, made = tempfile.mkstemp(dir=resource.path.parent, prefix=".megtrim-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(resource.content)
            os.fchmod(descriptor, int(resource.mode, 8))
            os.fsync(descriptor)
        Path(made).replace(resource.path)
    except BaseException:
        Path(made).unlink(missing_ok=True)
        raise


def digest(path: Path) -> str:
    """Return the sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def unpack(resource: Runner) -> None:
    """Unpack the archive under a temporary name, and rename it when it is complete."""
    part = resource.path.with_name(f".{resource.path.name}")
    copy = part / "archive.tar.gz"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o755)
    # A copy is checked and unpacked: the file at the given path could change in between.
    shutil.copyfile(resource.archive, copy)
    if digest(copy) != resource.sha256:
        msg = f"{resource.archive}: found sha256 {digest(copy)}, expected {resource.sha256}"
        shutil.rmtree(part)
        raise Refusal(msg, rc=2)
    make("tar", "-xzf", str(copy), "--no-same-owner", "-C", str(part))
    copy.unlink()
    if not (part / "run.sh").is_file():
        shutil.rmtree(part)
        msg = f"{resource.archive}: found no run.sh in it, expected GitHub's runner for Linux"
        raise Refusal(msg, rc=2)
    (part / UNPACKED).write_text(resource.sha256, encoding="ascii")
    shutil.rmtree(resource.path, ignore_errors=True)
    part.replace(resource.path)


def _service(resource: Unit | AdbServer) -> None:
    if isinstance(resource, AdbServer):
        make("systemctl", "restart", "megtrim-adb.service")
        return
    if not resource.at_boot:
        # The job that it may run ends first; the host's drain is for those who wait for it.
        make("systemctl", "disable", resource.name)
        return
    make("systemctl", "enable", resource.name)
    if resource.running:
        make("systemctl", "start", "--no-block", resource.name)
