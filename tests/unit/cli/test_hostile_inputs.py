"""What lies in an input's place, whatever it is: one error with its line, before any build."""

import os
import re
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from unit.cli.support import Shell
from unit.util.test_input_files import CONFLICT, POINTER

SAMPLE = Path(__file__).parents[3] / "examples" / "sample-engine"
MODEL, INFO = "models/tiny-vgg.sample", "models/tiny-vgg.sample.json"
INPUT, CACHE = "models/tiny-vgg.data.npy", "models/tiny-vgg.algo.cache"
KEEP_SET = "megtrim/keepset/tiny-vgg/default@any.json"
BASELINE, CONFIG = "sizes.json", "megtrim.yaml"
NAMED = (MODEL, INFO, INPUT, CACHE)
"""Files that the configuration names."""

Place = Callable[[Path], object]


@pytest.fixture
def team(shell: Shell) -> Shell:
    settle_in(shell.folder)
    return shell


def settle_in(folder: Path) -> None:
    shutil.copytree(SAMPLE, folder, dirs_exist_ok=True)
    (folder / "engine").mkdir()
    for name in ("CMakeLists.txt", "cmake", "src"):
        (folder / name).rename(folder / "engine" / name)
    config = folder / CONFIG
    text = config.read_text(encoding="utf-8").replace("source: .", "source: engine")
    config.write_text(text, encoding="utf-8")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(path))  # its path is short


def make_huge(path: Path) -> None:
    path.touch()
    os.truncate(path, 2**43)


PLACES: dict[str, Place] = {
    "pipe": os.mkfifo,
    "folder": Path.mkdir,
    "device": lambda path: path.symlink_to("/dev/zero"),
    "socket": make_socket,
    "circle": lambda path: path.symlink_to(path.name),
    "pointer": lambda path: path.write_bytes(POINTER),
    "huge": make_huge,
}


def put(team: Shell, file: str, make: Place) -> None:
    path = team.folder / file
    path.unlink(missing_ok=True)
    make(path)


def refused(team: Shell, *arguments: str) -> str:
    answer = team("trim", "--out", "out", *arguments).expect(2)
    assert str(team.folder) not in answer.err
    assert not [path for path in team.folder.glob("out/*/*") if path.name != "ending.json"]
    return answer.err


LINE = r"megtrim\.yaml:\d+: .*"
LEADS_NOWHERE = r"a path that leads nowhere \(Too many levels of symbolic links\)"
LOOKED_AT: dict[str, tuple[tuple[str, ...], str, str]] = {
    **{file: ((), f"{LINE}{re.escape(file)}", "a file that is there") for file in NAMED},
    KEEP_SET: ((), KEEP_SET, "a keep set"),
    f"{KEEP_SET} --committed": (("--committed",), KEEP_SET, "a keep set"),
    BASELINE: (("--baseline", BASELINE), BASELINE, "the sizes of a baseline"),
    CONFIG: ((), CONFIG, "a megtrim.yaml"),
}
"""What is looked at: options, how the error begins, what is expected."""


@pytest.mark.parametrize("file", LOOKED_AT)
@pytest.mark.parametrize("kind", PLACES)
def test_what_is_read_is_looked_at_first(team: Shell, file: str, kind: str) -> None:
    """With its line, and nothing is waited for.

    A baseline that leads nowhere is not there, which is no mistake; what a run reads may be huge.
    """
    if (file, kind) == (BASELINE, "circle") or (file in NAMED and kind == "huge"):
        return
    arguments, begin, expected = LOOKED_AT[file]
    put(team, file.split(maxsplit=1)[0], PLACES[kind])
    reported = refused(team, *arguments)

    pattern = {
        "circle": LEADS_NOWHERE if file in (*NAMED, CONFIG) else "Too many levels of symbolic lin",
        "pointer": "is a Git LFS pointer, expected .*\n  fetch .*: git lfs pull",
        "huge": f"found more than [0-9,]+ bytes, expected {expected}",
    }.get(kind, f"found .*a {kind}, expected {expected}")
    assert re.match(f"megtrim: {begin}", reported)
    assert re.search(pattern, reported)


@pytest.mark.parametrize(
    ("file", "arguments", "hint"),
    [
        (CONFIG, (), "keep what both sides need, and remove the lines of the markers"),
        (KEEP_SET, (), "keep the lines of both sides, and remove those of the markers"),
        (KEEP_SET, ("--committed",), "keep the lines of both sides, and remove"),
        (INFO, (), "dump the model and its JSON again, together"),
        (BASELINE, ("--baseline", BASELINE), "take one side as it is: git checkout --ours"),
    ],
)
def test_a_merge_that_no_one_resolved_is_named_as_that(
    team: Shell, file: str, arguments: tuple[str, ...], hint: str
) -> None:
    path = team.folder / file
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else ["{"]
    path.write_text(f"{lines[0]}\n{CONFLICT}", encoding="utf-8")
    reported = refused(team, *arguments)

    assert f"{file}:3: found an unresolved merge conflict\n" in reported
    assert hint in reported


def test_all_pointers_are_shown_at_once(team: Shell) -> None:
    for file in NAMED:
        put(team, file, PLACES["pointer"])
    reported = refused(team)

    for file in NAMED:
        assert f": {file} is a Git LFS pointer, expected " in reported


@pytest.mark.parametrize("name", [" ", "\t", "'", '"', "$HOME", ";", "\\", "\n", "%", ",", "`x`"])
@pytest.mark.parametrize("above", [False, True])
def test_a_folder_that_a_build_would_tear_apart_is_refused(
    team: Shell, monkeypatch: pytest.MonkeyPatch, name: str, above: bool
) -> None:
    odd = team.folder / f"a{name}b"
    odd.mkdir()
    if above:
        settle_in(odd)
        monkeypatch.chdir(odd)
    answer = team("trim", "--out", "out" if above else f"a{name}b/out").expect(2)
    wrong = next(each for each in name if not each.isalnum())
    assert answer.err.startswith(f"megtrim: --out: found {wrong!r} in ")
    assert "name another folder of results" in answer.err
    assert list(odd.glob("out/*/*")) == []


def test_a_run_in_ci_leaves_word_of_a_merge(team: Shell) -> None:
    (team.folder / KEEP_SET).write_text(CONFLICT, encoding="utf-8")
    ended = team("trim", "--committed", "--no-gate", "--out", "out")
    run = "https://ci.example/1"
    reported = team(
        *("ci", "evidence", "join", "--verdict", "out/final/verdict.json", "--bundle", "none"),
        *("--to", "report", "--run-url", run),
    )
    gate = team("ci", "gate", "report")

    assert (ended.status, reported.status, gate.status) == (2, 0, 2)
    report = team.folder / "report"
    for text in (
        (team.folder / "out/final/junit.xml").read_text(encoding="utf-8"),
        (report / "junit.xml").read_text(encoding="utf-8"),
        (report / "comment.md").read_text(encoding="utf-8"),
        gate.out,
    ):
        assert f"{KEEP_SET}:2: found an unresolved merge conflict" in text
    assert f"[This run]({run})" in (report / "comment.md").read_text(encoding="utf-8")
