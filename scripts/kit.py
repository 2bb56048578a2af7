#!/usr/bin/env python3
"""Make `.venv/bin/megtrim` in this checkout, on a machine that has Python 3.11 and nothing else.

usage: python3 scripts/kit.py [--apt "NAME NAME ..."]

The workflows' first command. The libraries, pinned by version and hash in requirements/kit.txt,
are installed once for each lock and Python, on a self-hosted runner for each job. megtrim itself
runs from this checkout, so that its version is the commit's. `--apt` installs missing Debian
packages, as root or by `sudo -n`. Uses only the standard library, because it runs before anything
is installed. Exit status: 0, 2 (usage, Python, this checkout), 3 (network, disk, apt).
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess  # noqa: TID251 - megtrim.libs.util.process is not there yet
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - this script is run by whatever is there
    found = sys.version.split()[0]
    sys.stderr.write(f"{Path(sys.argv[0]).name}: found Python {found}, expected 3.11 or newer\n")
    sys.exit(2)

import tomllib  # new in Python 3.11

ROOT = Path(__file__).resolve().parent.parent
LOCK = Path("requirements", "kit.txt")
READY = "ready"
"""A copy of the lock, written last: without it, a folder of libraries is incomplete."""
PROGRAMS = {
    "qemu-user": "qemu-aarch64",
    "qemu-user-static": "qemu-aarch64-static",
    "clang-14": "clang++-14",
    "lld-14": "ld.lld-14",
    "llvm-14": "llvm-strip-14",
    "clang-22": "clang++-22",
    "lld-22": "ld.lld-22",
    "llvm-22": "llvm-strip-22",
    "g++-aarch64-linux-gnu": "aarch64-linux-gnu-g++",
    "ninja-build": "ninja",
}
"""The program of a Debian package, if its name differs from the package's."""
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]+")
_LAUNCHER = """\
#!/bin/sh
# Written by scripts/kit.py.
exec {python} -I {script} "$@"
"""
_SCRIPT = """\
# Written by scripts/kit.py.
import sys

sys.path[:0] = {paths}

from {module} import {function}

sys.exit({function}())
"""


class Refusal(Exception):
    def __init__(self, text: str, *, rc: int) -> None:
        super().__init__(text)
        self.rc = rc


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(usage=(__doc__ or "").splitlines()[2].removeprefix("usage: "))
    parser.add_argument("--apt", default="", help="Debian packages, separated by spaces")
    packages = parser.parse_args(arguments).apt.split()
    try:
        bring(packages, os.environ)
        python = libraries(ROOT / LOCK, cache_root(os.environ))
        place(ROOT, python)
    except Refusal as refusal:
        sys.stderr.write(f"kit.py: {refusal}\n")
        return refusal.rc
    except OSError as error:
        sys.stderr.write(f"kit.py: {error}\n")
        return 3
    sys.stdout.write(f"kit.py: {ROOT / '.venv' / 'bin' / 'megtrim'}, libraries of {python}\n")
    return 0


def bring(packages: list[str], env: Mapping[str, str]) -> None:
    """Install what is missing; Refusal for what is no name of a package."""
    for package in packages:
        if not _PACKAGE.fullmatch(package):
            msg = f"--apt: found {package!r}, expected the name of a Debian package"
            raise Refusal(msg, rc=2)
    path = env.get("PATH", "")
    missing = [name for name in packages if not shutil.which(PROGRAMS.get(name, name), path=path)]
    if not missing:
        return
    prefix = [] if os.geteuid() == 0 else ["sudo", "-n"]
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
    apt += ["-o", "Acquire::Retries=3"]
    run([*apt, "update"])
    run([*apt, "install", "-y", "--no-install-recommends", *missing])


def cache_root(env: Mapping[str, str]) -> Path:
    """The runner's tool cache, else the user's own.

    On a machine that outlives its jobs it is the job's own, which the runner empties: whatever ran
    there before may have filled any other.
    """
    if env.get("RUNNER_ENVIRONMENT") == "self-hosted":
        return Path(env["RUNNER_TEMP"], "megtrim")
    tools = env.get("RUNNER_TOOL_CACHE", "")
    if tools and os.access(tools, os.W_OK):
        return Path(tools, "megtrim")
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache", "megtrim")


def libraries(lock: Path, root: Path) -> Path:
    """Of two jobs at once, the second waits for the first, and uses its result."""
    base = os.path.realpath(sys.executable)
    root.mkdir(parents=True, exist_ok=True)
    root = root.resolve()  # programs of an environment name its folder: a link may lead elsewhere
    bound = (sys.version, base, str(root))
    key = hashlib.sha256(b"\0".join((lock.read_bytes(), *(text.encode() for text in bound))))
    folder = root / key.hexdigest()[:20]
    with (root / f"{folder.name}.lock").open("w", encoding="utf-8") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # the kernel releases it, however its holder ends
        python = folder / "bin" / "python"
        if not (folder / READY).exists() or not _starts(python):
            install(lock, folder)
    return python


def install(lock: Path, folder: Path) -> str:
    """Make an environment with the libraries of a lock, by hash; return its Python."""
    if importlib.util.find_spec("ensurepip") is None:
        msg = "this Python has no ensurepip; on Debian: apt-get install python3-venv"
        raise Refusal(msg, rc=2)
    (folder / READY).unlink(missing_ok=True)
    run([sys.executable, "-m", "venv", "--clear", str(folder)])
    python = str(folder / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, "--only-binary", ":all:", "--require-hashes", "-r", str(lock)])
    shutil.copyfile(lock, folder / READY)
    return python


def _starts(python: Path) -> bool:
    """Its base Python may have been removed."""
    try:
        return subprocess.run([python, "-I", "-S", "-c", ""], check=False).returncode == 0
    except OSError:
        return False


def place(root: Path, python: Path) -> None:
    """Nothing is built: the launcher uses the checkout's own source, and what pyproject.toml says
    about name, version and entry point is written where importlib.metadata looks.
    """
    venv = root / ".venv"
    if (venv / "pyvenv.cfg").exists():
        msg = f"{venv} is an environment that this script did not create"
        raise Refusal(msg, rc=2)
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    name = project["name"]
    version = project["version"]
    module, function = project["scripts"][name].split(":")
    facts = venv / "site" / f"{name}-{version}.dist-info" / "METADATA"
    shutil.rmtree(venv / "site", ignore_errors=True)
    _write(facts, f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    paths = repr([str(root / "ci"), str(venv / "site")])
    script = venv / f"{name}.py"
    _write(script, _SCRIPT.format(paths=paths, module=module, function=function))
    launcher = venv / "bin" / name
    quoted = {"python": shlex.quote(str(python)), "script": shlex.quote(str(script))}
    _write(launcher, _LAUNCHER.format_map(quoted))
    launcher.chmod(0o755)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def run(
    argv: Sequence[str],
    *,
    cwd: Path | None = None,
    capture: bool = False,
    rc: int = 3,
    **variables: str,
) -> str:
    """Return what was captured; raise Refusal, with ``rc`` if the program fails."""
    # Variables of another Python would lead pip to libraries that are not in the environment.
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    try:
        done = subprocess.run(
            [*argv],
            cwd=cwd,
            env={**env, **variables},
            stdin=subprocess.DEVNULL,  # no program may ask a person
            stdout=subprocess.PIPE if capture else None,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        msg = f"{argv[0]} is missing, and is needed for: {shlex.join(argv)}"
        raise Refusal(msg, rc=3) from None
    if done.returncode != 0:
        msg = f"this failed with exit status {done.returncode}: {shlex.join(argv)}"
        raise Refusal(msg, rc=rc)
    return done.stdout or ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
