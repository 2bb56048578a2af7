"""Kinds of things that a device host consists of: the facts that must hold, read, and made.

Facts are texts by name. Files are written whole or not at all. Programs are started here alone:
arguments in, exit status and text out, always bounded.
"""

from __future__ import annotations

import difflib
import grp
import hashlib
import os
import pwd
import shlex
import shutil
import stat
import subprocess  # noqa: TID251 - megtrim.libs.util.process is not there yet
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

_LOOK_S = 60.0
_MAKE_S = 1800.0
"""Packages and libraries come over a network that may be slow."""
_PASSED = ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "no_proxy")
"""Variables that apt and pip need behind a proxy; the rest of the environment is dropped."""


class Refusal(Exception):
    """A failure; ``rc`` is 2 for usage, files and rights, 3 for this machine and its network."""

    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc


def look(*argv: str) -> tuple[int, str]:
    """Return exit status (127: there is none) and output."""
    try:
        done = _run(argv, {}, _LOOK_S)
    except Refusal as refusal:
        return 127, str(refusal)
    return done.returncode, done.stdout


def make(*argv: str, env: Mapping[str, str] | None = None) -> None:
    done = _run(argv, env or {}, _MAKE_S)
    if done.returncode != 0:
        output = (done.stderr or done.stdout).strip()[-2000:]
        msg = f"this ended with {done.returncode}: {shlex.join(argv)}\n{output}"
        raise Refusal(msg, rc=3)


def _run(
    argv: tuple[str, ...], env: Mapping[str, str], timeout_s: float
) -> subprocess.CompletedProcess[str]:
    base = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8"}
    passed = {name: os.environ[name] for name in _PASSED if name in os.environ}
    try:
        return subprocess.run(
            argv,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            env={**base, **passed, **env},
            timeout=timeout_s,
            umask=0o022,  # what root installs here, the jobs' user has to read
        )
    except (FileNotFoundError, subprocess.TimeoutExpired) as error:
        msg = f"{shlex.join(argv)}: {error}"
        raise Refusal(msg, rc=3) from None


Facts = Mapping[str, str]
UNPACKED = "unpacked-from"
"""Written last into an unpacked runner: without it, the folder is incomplete."""
_POWER = frozenset(
    (
        "adm",
        "admin",
        "disk",
        "docker",
        "incus",
        "kvm",
        "libvirt",
        "lxd",
        "plugdev",
        "root",
        "shadow",
        "staff",
        "sudo",
        "systemd-journal",
        "wheel",
    )
)
"""Groups of Debian and Ubuntu whose members can become root, or see what jobs must not see."""
_NOLOGIN = "/usr/sbin/nologin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    name: str
    desired: Facts | None
    """None: it must not be there."""
    read: Callable[[], Facts | None]
    """Returns None if it is not there."""
    make: Callable[[], object] | None
    """None: only a person can."""
    notify: tuple[str, ...] = ()
    """Of ``systemd``, ``udev`` and ``adb``."""
    is_unit: bool = False
    """Units come last, after those that were notified."""
    hint: str = ""

    def list_differences(self) -> tuple[str, ...]:
        """One line each; of a file, the lines that differ."""
        actual = self.read()
        if self.desired is None:
            return () if actual is None else ("not needed any more",)
        if actual is None:
            return ("missing",)
        lines: list[str] = []
        for name, value in self.desired.items():
            found = actual.get(name, "")
            if found != value and name == "content":
                lines += ["content differs", *_compare_lines(found, value)]
            elif found != value:
                lines.append(f"{name}: found {found or 'nothing'}, expected {value}")
        return tuple(lines)


def _compare_lines(found: str, desired: str) -> list[str]:
    compared = difflib.unified_diff(found.splitlines(), desired.splitlines(), lineterm="", n=0)
    return [line for line in compared if not line.startswith(("---", "+++", "@@"))]


def package(name: str) -> Item:
    def read() -> Facts | None:
        rc, state = look("dpkg-query", "--show", "--showformat=${db:Status-Status}", name)
        return {"state": state} if rc == 0 and state == "installed" else None

    def install() -> None:
        env = {"DEBIAN_FRONTEND": "noninteractive"}
        apt = ("apt-get", "-qq", "-o", "Acquire::Retries=3")
        make(*apt, "update", env=env)
        make(*apt, "install", "-y", "--no-install-recommends", name, env=env)

    return Item(name=f"package {name}", desired={"state": "installed"}, read=read, make=install)


def user(name: str, home: Path = Path("/nonexistent")) -> Item:
    """A system user who cannot log in, with a group of the same name."""

    def read() -> Facts | None:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            return None
        # Field 2 of `passwd --status`: P has a password; L and NP have none that works.
        state = look("passwd", "--status", name)[1].split()[1:2]
        return {
            "home": entry.pw_dir,
            "shell": entry.pw_shell,
            "password": "usable" if state == ["P"] else "locked",
            "groups with power": ", ".join(_list_strong_groups(name)) or "none",
        }

    def create() -> None:
        words = ("--home-dir", str(home), "--shell", _NOLOGIN)
        if read() is None:
            options = ("--system", "--user-group", "--no-create-home")
            make("useradd", *options, *words, name)
            return
        make("usermod", "--home", *words[1:], "--lock", name)
        for group in _list_strong_groups(name):
            make("gpasswd", "--delete", name, group)

    desired = {"home": str(home), "shell": _NOLOGIN}
    desired |= {"password": "locked", "groups with power": "none"}
    return Item(name=f"user {name}", desired=desired, read=read, make=create)


def _list_strong_groups(name: str) -> tuple[str, ...]:
    member = {group.gr_name for group in grp.getgrall() if name in group.gr_mem}
    return tuple(sorted(member & _POWER))


def read_owner(path: Path, *, is_folder: bool) -> dict[str, str] | None:
    """Links are not followed; None if it is not there."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    right = stat.S_ISDIR(found.st_mode) if is_folder else stat.S_ISREG(found.st_mode)
    users = {entry.pw_uid: entry.pw_name for entry in pwd.getpwall()}
    groups = {entry.gr_gid: entry.gr_name for entry in grp.getgrall()}
    return {
        "owner": users.get(found.st_uid, str(found.st_uid)),
        "group": groups.get(found.st_gid, str(found.st_gid)),
        "mode": f"{stat.S_IMODE(found.st_mode):04o}" if right else "of another kind of file",
    }


def folder(path: Path, owner: str = "root", mode: str = "0755") -> Item:
    """Its contents are managed elsewhere."""

    def create() -> None:
        path.mkdir(parents=True, exist_ok=True)
        shutil.chown(path, owner, owner)
        path.chmod(int(mode, 8))

    return Item(
        name=f"folder {path}",
        desired={"owner": owner, "group": owner, "mode": mode},
        read=partial(read_owner, path, is_folder=True),
        make=create,
    )


def file(path: Path, content: str, mode: str = "0644", notify: tuple[str, ...] = ()) -> Item:
    def read() -> Facts | None:
        facts = read_owner(path, is_folder=False)
        if facts is None or path.is_symlink() or not path.is_file():
            return facts
        return {**facts, "content": path.read_text(encoding="utf-8", errors="replace")}

    return Item(
        name=f"file {path}",
        desired={"owner": "root", "group": "root", "mode": mode, "content": content},
        read=read,
        make=partial(_write, path, content, mode),
        notify=notify,
    )


def _write(path: Path, content: str, mode: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".megtrim-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(content)
            os.fchmod(descriptor, int(mode, 8))
            os.fsync(descriptor)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def old_folder(path: Path) -> Item:
    remove = partial(shutil.rmtree, path)
    read = partial(read_owner, path, is_folder=True)
    return Item(name=f"old folder {path}", desired=None, read=read, make=remove)


def prerequisite(
    path: Path, desired: Facts, read: Callable[[], Facts | None], *, hint: str
) -> Item:
    """Only a person can provide or mend it."""
    return Item(name=str(path), desired=desired, read=read, make=None, hint=hint)


def compute_digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def runner(path: Path, archive: Path, sha256: str) -> Item:
    """GitHub's runner, unpacked; each job gets a copy."""
    mark = path / UNPACKED
    return Item(
        name=f"runner {path}",
        desired={"unpacked from": sha256},
        read=lambda: (
            {"unpacked from": mark.read_text(encoding="ascii")} if mark.is_file() else None
        ),
        make=partial(_unpack, path, archive, sha256),
    )


def _unpack(path: Path, archive: Path, sha256: str) -> None:
    part = path.with_name(f".{path.name}")
    copy = part / "archive.tar.gz"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(mode=0o755)
    # A copy is checked and unpacked: the file at the given path could change in between.
    shutil.copyfile(archive, copy)
    found = compute_digest(copy)
    if found == sha256:
        make("tar", "-xzf", str(copy), "--no-same-owner", "-C", str(part))
    copy.unlink()
    if not (part / "run.sh").is_file():
        shutil.rmtree(part)
        wrong = f"found sha256 {found}, expected {sha256}"
        lacking = "found no run.sh in it, expected GitHub's runner for Linux"
        msg = f"{archive}: {lacking if found == sha256 else wrong}"
        raise Refusal(msg, rc=2)
    (part / UNPACKED).write_text(sha256, encoding="ascii")
    shutil.rmtree(path, ignore_errors=True)
    part.replace(path)


def kit(megtrim: Path, started_by: str, script: Path, cache: Path) -> Item:
    """The host's own megtrim, which the jobs' user can start."""

    def read() -> Facts | None:
        if not megtrim.exists():
            return None
        rc, _ = look("runuser", "-u", started_by, "--", str(megtrim), "--version")
        return {f"starts as {started_by}": "yes" if rc == 0 else "no"}

    env = {"XDG_CACHE_HOME": str(cache), "HOME": "/root"}
    return Item(
        name=f"program {megtrim}",
        desired={f"starts as {started_by}": "yes"},
        read=read,
        make=partial(make, "/usr/bin/python3", str(script), env=env),
    )


def unit(name: str, *, is_running: bool, at_boot: bool = True) -> Item:
    """It starts with the machine and, if asked, is running now."""

    def read() -> Facts:
        enabled = look("systemctl", "is-enabled", name)[1].strip() == "enabled"
        facts = {"at boot": "enabled" if enabled else "disabled"}
        if is_running:
            facts["now"] = look("systemctl", "is-active", name)[1].strip()
            # A runner that cleans up, or prepares its next job, counts as running.
            if facts["now"] in ("activating", "deactivating") and "@" in name:
                facts["now"] = "active"
        return facts

    def start() -> None:
        # The job that a unit may run ends first; the host's drain is for those who wait for it.
        make("systemctl", "enable" if at_boot else "disable", name)
        if is_running:
            make("systemctl", "start", "--no-block", name)

    now = {"now": "active"} if is_running else {}
    desired = {"at boot": "enabled" if at_boot else "disabled", **now}
    return Item(name=f"unit {name}", desired=desired, read=read, make=start, is_unit=True)
