"""Shared options, and what lies in an input's place: one error, before any build."""

import errno
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import click
import pytest
from click.testing import CliRunner

from megtrim.core.checks.invocation import DEFAULT_OUT, Options
from megtrim.core.cli import options
from megtrim.core.cli.history_selector import HistorySelector
from megtrim.core.cli.main import main
from megtrim.core.cli.options import expect_writable, out_option
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.times.nights.history import RUN_FILES
from support.history_entries import make_run
from unit.core.cli.support import Shell, walk
from unit.libs.util.test_input_files import CONFLICT, POINTER


@click.command()
@out_option("Folder for results.")
def command(out: Path) -> None:
    click.echo(repr(out))


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ((), 0, repr(Path(DEFAULT_OUT))),
        (("--out", "a b"), 0, repr(Path("a b"))),
        (("--out", ""), 2, "found nothing, expected a folder"),
    ],
)
def test_the_folder_has_a_default_and_a_name(
    arguments: tuple[str, ...], status: int, said: str
) -> None:
    answer = CliRunner().invoke(command, arguments)

    assert answer.exit_code == status
    assert said in answer.output


@pytest.mark.parametrize("name", ["out", "out/deeper/still", "."])
def test_a_folder_that_can_be_made_is_accepted(tmp_path: Path, name: str) -> None:
    expect_writable(tmp_path / name)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("file", "Not a directory"),
        ("file/out", "Not a directory"),
        ("circle", "links that lead in a circle"),
        ("circle/out", "links that lead in a circle"),
    ],
)
def test_what_cannot_be_a_folder_is_refused(tmp_path: Path, name: str, reason: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "circle").symlink_to(tmp_path / "back")
    (tmp_path / "back").symlink_to(tmp_path / "circle")
    with pytest.raises(InputError) as caught:
        expect_writable(tmp_path / name)

    assert str(caught.value) == (
        f"--out {tmp_path / name}: nothing can be written there: {reason}\n"
        "  name a folder that can be written or made"
    )


def test_results_are_spelled_without_detours(tmp_path: Path) -> None:
    assert Options(out=tmp_path / "project" / ".." / "out").results == tmp_path / "out"


@pytest.mark.parametrize(
    ("number", "hint"),
    [
        (errno.ENOSPC, "free some space, or choose another folder with --out"),
        (errno.EIO, "choose another folder with --out"),
    ],
)
def test_a_full_or_a_sick_disk_is_no_mistake(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    fail = Mock(side_effect=OSError(number, os.strerror(number)))
    monkeypatch.setattr(options, "TemporaryDirectory", fail)
    with pytest.raises(InfrastructureFailure) as caught:
        expect_writable(tmp_path / "out")

    message = f"{tmp_path / 'out'} cannot be written: {os.strerror(number)}"
    assert str(caught.value) == f"{message}\n  {hint}"


def test_a_folder_is_read_unless_a_branch_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    selector = HistorySelector(folder=tmp_path, branch="", remote="origin", repository=tmp_path)

    assert selector.append([make_run(0), make_run(1)]) == str(tmp_path)
    assert selector.read(RUN_FILES).entries == (make_run(0), make_run(1))
    (tmp_path / make_run(0).path).write_text("{", encoding="utf-8")
    assert selector.read(RUN_FILES).entries == (make_run(1),)
    assert f"left out: {make_run(0).path}:1:" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("perf", "history"), ("size", "history")])
def test_a_day_is_a_day(shell: Shell, verb: tuple[str, str]) -> None:
    shell(*verb, "--since", "yesterday").expect(2, "expected a day such as 2026-10-01")


def _find_paths() -> Iterator[tuple[str, ...]]:
    for words, command in walk(main):
        params = (
            getattr(command, "alone", command).params if getattr(command, "alone", command) else ()
        )
        for asked in params if words != ("demo",) else ():  # would build
            if isinstance(asked.type, click.Path):
                given = (_fill(each, asked) for each in params if each is asked or each.required)
                yield (*words, *given)


def _fill(each: click.Parameter, asked: click.Parameter) -> str:
    value = "a" * 64 if "sha" in str(each.name) else "x"
    if each is asked:
        value = "PATH"
    if isinstance(each.type, click.Choice):
        value = str(each.type.choices[0])
    if isinstance(each.type, click.types.IntParamType | click.IntRange):
        value = "1"
    return value if isinstance(each, click.Argument) else f"{each.opts[0]}={value}"


CALLS = [*dict.fromkeys(_find_paths())]
NAMES: dict[str, Callable[[], str]] = {
    "long part": lambda: f"{'a' * 300}.yaml",
    "circle": lambda: _link("circle", "circle"),
    "inside a file": lambda: "megtrim.yaml/inside",
    "folder": lambda: "engine",
    "device": lambda: "/dev/null",
    "lines": lambda: "a\nb.yaml",
}


def _link(name: str, to: str) -> str:
    Path(name).unlink(missing_ok=True)
    Path(name).symlink_to(to)
    return name


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    settle_in(folder)
    config = folder / "megtrim.yaml"
    text = config.read_text(encoding="utf-8")
    assert "{kind: auto, prefer: zig}" in text
    config.write_text(text.replace("{kind: auto, prefer: zig}", "{kind: ndk}"), encoding="utf-8")
    return folder


@pytest.mark.parametrize("call", CALLS, ids=lambda call: " ".join(call).replace("=", " "))
def test_a_name_that_no_file_has_is_an_input_error(
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    call: tuple[str, ...],
) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.chdir(project)
    shell = Shell(project, capsys)
    bugs = []
    for kind, make in NAMES.items():
        answer = shell(*(word.replace("PATH", make()) for word in call))
        if answer.status not in (0, 1, 2, 3):
            bugs.append((kind, answer.status, answer.err[-300:]))
        Path("circle").unlink(missing_ok=True)
    assert bugs == []


@pytest.mark.parametrize("verb", ["check", "plan"])
@pytest.mark.parametrize(
    ("line", "names"),
    [
        ('models: "."', "models"),
        ("models: ''", "models"),
        (f"models: {'a' * 300}/*.yaml", "models"),
        ("keep_set: /", "/"),
        (f"keep_set: {'a' * 300}", "a" * 300),
        (f"engine: {{kind: sample, source: {'a' * 300}}}", "a" * 50),
        ('engine: {kind: sample, source: "a\\0b"}', "control character"),
    ],
)
def test_a_name_in_the_configuration_is_an_input_error(
    shell: Shell, verb: str, line: str, names: str
) -> None:
    settle_in(shell.folder)
    config = shell.folder / "megtrim.yaml"
    key = line.partition(":")[0]
    kept = re.sub(rf"^{key}:.*\n(?:[ -].*\n)*", "", config.read_text(encoding="utf-8"), flags=re.M)
    config.write_text(
        f"{line}\n{kept}".replace("{kind: auto, prefer: zig}", "{kind: ndk}"), encoding="utf-8"
    )
    shell(*verb.split()).expect(2, names)


SAMPLE = Path(__file__).parents[4] / "examples" / "sample-engine"
MODEL = "models/tiny-vgg.sample"
INFO = "models/tiny-vgg.sample.json"
INPUT = "models/tiny-vgg.data.npy"
CACHE = "models/tiny-vgg.algo.cache"
KEEP_SET = "megtrim/keepset/tiny-vgg/default@any.json"
BASELINE = "sizes.json"
CONFIG = "megtrim.yaml"
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
