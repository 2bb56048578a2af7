"""Stand-in for actions/checkout: the tree of one commit, out of a folder of bare repositories."""

import os
import re
import shutil
import subprocess  # noqa: TID251 - runs on its own, without the package
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LONGEST_DELAY_S = 120.0
COMMIT = re.compile("[0-9a-f]{40}")
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
LONGEST_POINTER = 1024


def main(env: Mapping[str, str]) -> int:
    if env["IN_PERSIST"] != "false":
        sys.stdout.write("::error::the kit never leaves a token in a checkout\n")
        return 1
    this = f"{env['GITHUB_JOB']} checkout {env['IN_PATH']}"
    delayed, _, other = env.get("MEGTRIM_STAND_IN_DELAY", "").rpartition(" ")
    if delayed == this:
        wait(Path(env["MEGTRIM_STAND_IN_ENDED"], other))
    if env.get("MEGTRIM_STAND_IN_FAULT") == this:
        sys.stdout.write("::error::The runner has received a shutdown signal\n")
        return 1
    workspace = Path(env["GITHUB_WORKSPACE"]).resolve()
    target = (workspace / env["IN_PATH"]).resolve()
    if not target.is_relative_to(workspace):
        sys.stdout.write(f"::error::{env['IN_PATH']} is not below the workspace\n")
        return 1
    source = Path(env["MEGTRIM_STAND_IN_REPOSITORIES"], f"{env['IN_REPOSITORY']}.git")
    if target.exists() and target != workspace:
        shutil.rmtree(target)
    target.mkdir(parents=True, exist_ok=True)
    own = env["IN_REPOSITORY"] == env["GITHUB_REPOSITORY"]
    wanted = env["IN_REF"] or (env["GITHUB_SHA"] if own else "HEAD")
    # The kit's files, which no job changes, are written once and linked.
    tree = source.with_suffix(".trees") / wanted
    if not own and tree.is_dir():
        return link(tree, target)
    rc = fetch(source, wanted, target, env)
    if rc == 0 and not own and COMMIT.fullmatch(wanted):
        keep(target, tree)
    if rc == 0 and env["IN_LFS"] == "true":
        return fetch_large_files(target, source.with_suffix(".lfs"))
    return rc


def wait(file: Path) -> None:
    end = time.monotonic() + LONGEST_DELAY_S
    while not file.exists() and time.monotonic() < end:
        time.sleep(0.05)


def fetch(source: Path, wanted: str, target: Path, env: Mapping[str, str]) -> int:
    depth = () if env["IN_DEPTH"] == "0" else ("--depth", env["IN_DEPTH"])
    patterns = env["IN_SPARSE"].split()
    sparse = [("sparse-checkout", "set", "--no-cone", *patterns)] if patterns else []
    for argv in (
        ("init", "--quiet", "--initial-branch=main", "."),
        ("fetch", "--quiet", "--no-tags", *depth, source.as_uri(), wanted),
        *sparse,
        ("-c", "advice.detachedHead=false", "checkout", "--quiet", "--force", "FETCH_HEAD"),
        ("log", "-1", "--format=%H"),
    ):
        rc = subprocess.run(
            ["git", "--no-pager", *argv], cwd=target, check=False, timeout=120
        ).returncode
        if rc != 0:
            sys.stdout.write(f"::error::{env['IN_REPOSITORY']} has no {wanted}\n")
            return rc
    return 0


def keep(target: Path, tree: Path) -> None:
    ready = tree.with_name(f"{tree.name}.{os.getpid()}")
    tree.parent.mkdir(exist_ok=True)
    link(target, ready)
    with suppress(OSError):  # another job was quicker
        ready.rename(tree)


def link(source: Path, target: Path) -> int:
    argv = ["cp", "--archive", "--link", "--no-target-directory", str(source), str(target)]
    return subprocess.run(argv, check=False, timeout=120).returncode


def fetch_large_files(target: Path, objects: Path) -> int:
    for file in target.rglob("*"):
        if not file.is_file() or file.is_symlink() or ".git" in file.relative_to(target).parts:
            continue
        head = file.read_bytes()[:LONGEST_POINTER]
        if not head.startswith(POINTER):
            continue
        found = objects / head.split(b"sha256:")[1].split()[0].decode()
        if not found.is_file():
            sys.stdout.write(f"::error::{file.name}: the server has no such object\n")
            return 1
        file.write_bytes(found.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main(os.environ))
