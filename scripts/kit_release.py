#!/usr/bin/env python3
"""Cut, check, build, compare and try a release of megtrim itself.

usage: python3 scripts/kit_release.py COMMAND ...

    cut VERSION             version and changelog of a new release, to be committed and tagged
    check TAG               refuse a tag that is not this commit's version, or has no changelog
    build FOLDER            wheel, sdist, requirements, notes and SHA256SUMS of this commit
    compare FOLDER AGAIN    refuse two builds that differ, and name what differs
    try FOLDER              install the wheel in an environment of its own; run the demo, and trim

Uses only the standard library, because it runs before anything is installed. Exit status: 0,
1 (what was checked is wrong), 2 (usage, this checkout), 3 (network, disk).
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import sys
import sysconfig
import tempfile
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import kit

ROOT = kit.ROOT
BUILD_LOCK = Path("requirements", "build.txt")
CHANGELOG = "CHANGELOG.md"
PROJECT = "pyproject.toml"
CHECKSUMS = "SHA256SUMS"
NOTES = "notes.md"
"""The notes are the text of the release's page, and no file of it."""
GITHUB = "https://github.com"
_TAG = re.compile(r"v(\d+\.\d+\.\d+)")
_VERSION_LINE = re.compile(r'^version = "(\d+\.\d+\.\d+)"$', re.MULTILINE)
_SECTION = re.compile(r"^## \[([^\]]+)\](?: - (\S+))?(?: \[YANKED\])?$", re.MULTILINE)
_RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)")
_SMALLEST = ("models/tiny-mobile.sample", "models/tiny-mobile.data.npy")


class Refused(kit.Refusal):
    def __init__(self, text: str) -> None:
        super().__init__(text, rc=1)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter, usage="%(prog)s"
    )
    add = parser.add_subparsers(dest="command", required=True).add_parser
    add("cut").add_argument("version")
    add("check").add_argument("tag")
    building = add("build")
    comparing = add("compare")
    trying = add("try")
    for command in (building, comparing, trying):
        command.add_argument("folder")
    building.add_argument("--umask", help="such as 077: the bytes do not depend on it")
    building.add_argument("--python", help="one that has hatchling; by default, a new one")
    comparing.add_argument("again")
    trying.add_argument("--libraries", help="a Python with the libraries, not a new one")
    chosen = parser.parse_args(arguments)
    try:
        _run_command(chosen)
    except kit.Refusal as refusal:
        sys.stderr.write(f"kit_release.py: {refusal}\n")
        return int(refusal.rc)
    except OSError as error:
        sys.stderr.write(f"kit_release.py: {error}\n")
        return 3
    return 0


def _run_command(chosen: argparse.Namespace) -> None:
    match chosen.command:
        case "cut":
            cut(ROOT, chosen.version, datetime.now(tz=UTC).date())
        case "check":
            check(ROOT, chosen.tag)
        case "build":
            if chosen.umask:
                os.umask(int(chosen.umask, 8))
            build(ROOT, Path(chosen.folder), chosen.python, os.environ)
        case "compare":
            compare(Path(chosen.folder), Path(chosen.again))
        case _:
            try_out(Path(chosen.folder), chosen.libraries)


def read_version(text: str) -> str:
    version = tomllib.loads(text)["project"]["version"]
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        msg = f"{PROJECT}: version {version!r}, expected three numbers"
        raise Refused(msg)
    return str(version)


def sections(changelog: str) -> dict[str, tuple[str, str]]:
    """The day and the text of each version, in the changelog's order."""
    heads = [*_SECTION.finditer(changelog)]
    ends = [head.start() for head in heads[1:]] + [len(changelog)]
    return {
        head[1]: (head[2] or "", changelog[head.end() : end].strip())
        for head, end in zip(heads, ends, strict=True)
    }


def cut(root: Path, version: str, day: date) -> None:
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        msg = f"found {version!r}, expected a version, such as 1.2.3"
        raise kit.Refusal(msg, rc=2)
    changelog, project = (root / name for name in (CHANGELOG, PROJECT))
    text, settings = (path.read_text(encoding="utf-8") for path in (changelog, project))
    found = sections(text)
    if version in found:
        msg = f"{CHANGELOG} has a section {version} already"
        raise Refused(msg)
    if not _has_entries(found.get("Unreleased", ("", ""))[1]):
        msg = f"{CHANGELOG}: there is nothing under [Unreleased] to release"
        raise Refused(msg)
    head = "## [Unreleased]\n"
    changelog.write_text(
        text.replace(head, f"{head}\n## [{version}] - {day.isoformat()}\n", 1), encoding="utf-8"
    )
    project.write_text(
        _VERSION_LINE.sub(f'version = "{version}"', settings, count=1), encoding="utf-8"
    )
    _say(f"{version}: commit {CHANGELOG} and {PROJECT}, then tag that commit v{version}")


def check(root: Path, tag: str) -> str:
    wanted = _TAG.fullmatch(tag)
    version = read_version((root / PROJECT).read_text(encoding="utf-8"))
    if wanted is None or wanted[1] != version:
        msg = f"the tag is {tag!r}, and {PROJECT} says {version}: expected v{version}"
        raise Refused(msg)
    found = sections((root / CHANGELOG).read_text(encoding="utf-8"))
    day, text = found.get(version, ("", ""))
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day) or not _has_entries(text):
        msg = f"{CHANGELOG}: expected ## [{version}] - YYYY-MM-DD, and what changed below it"
        raise Refused(msg)
    if _has_entries(found.get("Unreleased", ("", ""))[1]):
        msg = f"{CHANGELOG}: this commit has changes under [Unreleased], which {tag} would contain"
        raise Refused(msg)
    _say(f"{tag} is this commit's version, with a changelog of {day}")
    return text


def build(root: Path, folder: Path, python: str | None, env: Mapping[str, str]) -> None:
    """From the commit alone: not from what lies around it."""
    if folder.exists():
        msg = f"{folder} is there already"
        raise kit.Refusal(msg, rc=2)
    commit, seconds = _ask(root, "log", "-1", "--format=%H %ct").split()
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "tree")
        archive = Path(scratch, "tree.tar")
        tree.mkdir()
        _ask(root, "archive", "--format=tar", f"--output={archive}", commit)
        kit.run(["tar", "-xf", str(archive), "-C", str(tree)])
        builder = python or kit.install(tree / BUILD_LOCK, Path(scratch, "builder"))
        made = Path(scratch, "made")
        made.mkdir()
        argv = [builder, "-m", "hatchling", "build", "-t", "sdist", "-t", "wheel"]
        argv += ["-d", str(made)]
        kit.run(argv, cwd=tree, SOURCE_DATE_EPOCH=seconds, PYTHONDONTWRITEBYTECODE="1")
        version = read_version((tree / PROJECT).read_text(encoding="utf-8"))
        shutil.copyfile(tree / kit.LOCK, made / f"megtrim-{version}-requirements.txt")
        listed = ((file.name, file.read_bytes()) for file in sorted(made.iterdir()))
        sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in listed)
        (made / CHECKSUMS).write_text(sums, encoding="ascii")
        text = sections((tree / CHANGELOG).read_text(encoding="utf-8")).get(version, ("", ""))[1]
        (made / NOTES).write_text(render_notes(version, commit, text, env), encoding="utf-8")
        shutil.copytree(made, folder)  # whole, or not at all
    for path in sorted(folder.iterdir()):
        _say(f"{path.name} {path.stat().st_size} bytes")


def render_notes(version: str, commit: str, changes: str, env: Mapping[str, str]) -> str:
    server = env.get("GITHUB_SERVER_URL") or GITHUB
    repository = env.get("GITHUB_REPOSITORY") or "OWNER/megtrim"
    base = f"{server}/{repository}/blob/v{version}/"
    return (
        "With all files of this release in one folder:\n\n"
        f"```sh\nsha256sum -c {CHECKSUMS}\n"
        f"pip install --require-hashes -r megtrim-{version}-requirements.txt\n"
        f"pip install --no-deps megtrim-{version}-py3-none-any.whl\n```\n\n"
        "The workflows of this version, for a repository that has a megtrim.yaml:\n\n"
        f"```sh\nmegtrim init --github --kit {repository} --kit-sha {commit} "
        f"--kit-version v{version}\n```\n\n"
        f"{_RELATIVE_LINK.sub(f']({base}', changes)}\n"
    )


def compare(folder: Path, again: Path) -> None:
    first, second = (
        {path.name: path.read_bytes() for path in build.iterdir()} for build in (folder, again)
    )
    names = sorted(first.keys() | second.keys())
    wrong = [name for name in names if first.get(name) != second.get(name)]
    if wrong or not first:
        msg = f"the two builds differ: {', '.join(wrong) or 'there is none'}"
        raise Refused(msg)
    _say(f"both builds are equal: {', '.join(sorted(first))}")


def try_out(folder: Path, libraries: str | None) -> None:
    (wheel,) = folder.absolute().glob("*.whl")
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch, "environment")
        locked = libraries or kit.libraries(ROOT / kit.LOCK, kit.cache_root(os.environ))
        _borrow(place, locked)
        pip = [str(place / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        kit.run([*pip, "install", "--quiet", "--no-index", "--no-deps", str(wheel)])
        kit.run([*pip, "check"])
        megtrim = str(place / "bin" / "megtrim")
        said = kit.run([megtrim, "--version"], capture=True)
        if said.split()[-1] != wheel.name.split("-")[1]:
            msg = f"{wheel.name}: megtrim --version says {said.strip()!r}"
            raise Refused(msg)
        team = Path(scratch, "team")
        team.mkdir()
        sample = _site(place) / "megtrim" / "sample_engine"
        kit.run([megtrim, "demo", "--out", "demo"], cwd=team, rc=1)
        for name in _SMALLEST:
            shutil.copyfile(sample / name, team / Path(name).name)
        kit.run([megtrim, "init", Path(_SMALLEST[0]).name], cwd=team)
        kit.run([megtrim, "trim"], cwd=team, rc=1)
    _say(f"{wheel.name}: installed, checked, ran the demo, and trimmed a model")


def _borrow(place: Path, libraries: str | Path) -> None:
    """Make an environment that finds the libraries of another Python."""
    kit.run([sys.executable, "-m", "venv", str(place)])
    programs = Path(libraries).absolute().parent
    (_site(place) / "libraries.pth").write_text(f"{_site(programs.parent)}\n", encoding="utf-8")
    for name in ("cmake", "ninja"):
        (place / "bin" / name).symlink_to(programs / name)


def _site(environment: Path) -> Path:
    names = {"base": str(environment), "platbase": str(environment)}
    return Path(sysconfig.get_path("purelib", "venv", vars=names))


def _has_entries(text: str) -> bool:
    return bool(re.search(r"^- ", text, re.MULTILINE))


def _ask(root: Path, *arguments: str) -> str:
    # A checkout by another user, such as an action's, is read all the same.
    argv = ["git", "-c", "safe.directory=*", "-C", str(root), *arguments]
    return kit.run(argv, capture=True, rc=2)


def _say(text: str) -> None:
    sys.stdout.write(f"kit_release.py: {text}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
