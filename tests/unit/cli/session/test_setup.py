"""From options to a context: what committed mode refuses, and what devices do not take."""

from __future__ import annotations

import errno
import io
import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build import toolchains
from megtrim.chain import store as stores
from megtrim.chain.store import Store
from megtrim.cli import options as out
from megtrim.cli.session import setup
from megtrim.trim.results import BuildResult
from megtrim.util.console import Console
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import TOOLCHAIN, git, repository
from unit.cli.support import SAMPLE_MODEL, Shell
from unit.trim.stages.results import sample

CONFIG = """\
version: 1
engine: {kind: sample}
models:
- name: m
  file: m.mge
  scenarios:
  - {name: s}
  - name: tuned
    fast_run: true
"""


FROM_PLAIN = (
    "trim.base is plain, so nothing is traced",
    "record what runs: megtrim stage functions --config megtrim.yaml",
)
TOO_LONG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
classes: [{name: any}]
devices: [{name: board, kind: local, class: any, runner: true}]
models:
- {name: m, file: m.mge, scenarios: [{name: s, timeout: 2 days}]}
"""


@pytest.fixture
def project(shell: Shell) -> Shell:
    """A configuration whose second scenario searches for algorithms."""
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return shell


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_an_engine_that_is_not_checked_out_comes_with_the_command(
    project: Shell, processes: ProcessRunner, kind: str
) -> None:
    """In a plain clone and in a work tree; typed as it is printed, it works."""
    engine = repository(processes, project.folder / "engine", {"src/a.cpp": ""})
    path = "third party/engine"
    text = CONFIG.replace("sample", f"{kind}, source: {path}")
    files = {"megtrim.yaml": text, "m.mge": "model\n"}
    app = repository(processes, project.folder / "app", files)
    git(processes, app, "submodule", "--quiet", "add", str(engine), path)
    git(processes, app, "commit", "-q", "-m", "engine")
    git(processes, app, "worktree", "add", "-q", "../tree")
    git(processes, project.folder, "clone", "-q", str(app), "clone")

    for name in ("clone", "tree"):
        folder = project.folder / name
        answer = project("plan", "--config", str(folder / "megtrim.yaml"))

        assert answer.status == 2
        said, command = answer.err.splitlines()[-2:]
        assert said.endswith(f": the submodule {path} of {folder} is not checked out")
        git(processes, folder, *shlex.split(command)[1:])
        assert (folder / path / "src/a.cpp").exists()
        again = project("plan", "--config", str(folder / "megtrim.yaml"))
        assert "not checked out" not in again.err


@pytest.mark.parametrize("verb", ["trim", "plan", "stage build", "verify"])
def test_a_search_cannot_be_committed(project: Shell, verb: str) -> None:
    """Its result is timing: the team records it, and is shown how."""
    answer = project(*verb.split(), "--committed")

    assert answer.status == 2
    assert answer.err == (
        "megtrim: megtrim.yaml:9: m/tuned@any searches for algorithms, which --committed cannot "
        "repeat\n  commit the algo.cache that a trim leaves in its profile folder, and name it as "
        "algo_cache: megtrim trim --config megtrim.yaml\n"
    )


@pytest.mark.parametrize("verb", ["trim", "plan", "verify", "ci evidence pack --to bundle"])
def test_quick_and_committed_are_two_ways(project: Shell, verb: str) -> None:
    """One records what runs, the other takes what was recorded."""
    answer = project(*verb.split(), "--quick", "--committed")

    assert answer.status == 2
    assert answer.err.startswith(
        "megtrim: --quick records which functions run: it cannot be combined with --committed\n"
    )


@pytest.mark.parametrize(
    "words", ["plan --traces x", "trim --traces x", "trim --accept", "stage functions --accept"]
)
def test_quick_takes_and_leaves_no_keep_set(project: Shell, words: str) -> None:
    """It records what runs here, and commits nothing."""
    answer = project(*words.split(), "--quick")

    assert answer.status == 2
    assert answer.err == (
        "megtrim: --quick does not touch the committed keep set: leave out --accept and --traces\n"
    )


def trimmed_so(project: Shell, trim: str) -> None:
    """Let the configuration trim so, and search for nothing."""
    text = CONFIG.partition("  - name: tuned")[0] + f"trim: {{{trim}}}\n"
    (project.folder / "megtrim.yaml").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("trim", ["", "level: function, base: plain"])
@pytest.mark.parametrize("verb", ["profile", "header"])
def test_what_the_quick_way_leaves_out_is_refused(project: Shell, trim: str, verb: str) -> None:
    """That everything was up to date would be no answer."""
    trimmed_so(project, trim)
    answer = project("stage", verb, "--quick")

    assert answer.status == 2
    assert answer.err.endswith(
        "megtrim: --quick trims the plain build by functions alone: there is nothing to do for "
        f"{verb}\n  leave --quick out\n"
    )


@pytest.mark.parametrize(
    ("trim", "verb", "reported", "hint"),
    [
        *(("level: function, base: plain", verb, *FROM_PLAIN) for verb in ("profile", "header")),
        (
            *("", "functions", "trim.level is region, so no functions are recorded"),
            "add trim: {level: function}",
        ),
    ],
)
def test_a_verb_that_has_nothing_to_do_is_refused(
    project: Shell, trim: str, verb: str, reported: str, hint: str
) -> None:
    """By this configuration."""
    trimmed_so(project, trim)
    answer = project("stage", verb)

    assert answer.status == 2
    assert answer.err.endswith(f"megtrim: megtrim.yaml: {reported}\n  {hint}\n")


def test_functions_are_asked_for_where_they_are_trimmed(project: Shell) -> None:
    """By regions alone there is no link that could tell them."""
    answer = project("ci", "evidence", "pack", "--functions", "--to", "bundle")

    assert answer.status == 2
    assert "trim.level is region, so no functions are recorded" in answer.err
    assert not (project.folder / "bundle").exists()


def test_a_recorded_search_can_be_committed(project: Shell) -> None:
    """What is missing then is the keep set itself."""
    config = project.folder / "megtrim.yaml"
    config.write_text(f"{CONFIG}    algo_cache: m.mge\n", encoding="utf-8")

    answer = project("plan", "--committed")

    assert answer.status == 2
    assert "there is no keep set, which --committed trims by" in answer.err


@pytest.mark.parametrize("verb", ["trim", "plan", "stage build"])
def test_what_devices_on_runners_do_not_take_is_refused_first(shell: Shell, verb: str) -> None:
    """Not when it is packed, after a verdict that had to do without them."""
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (shell.folder / "megtrim.yaml").write_text(TOO_LONG, encoding="utf-8")

    answer = shell(*verb.split())

    assert answer.status == 2
    assert (
        "megtrim.yaml:7: m/s@any: timeout_s: found 172800.0, expected up to a day of seconds"
        in answer.err
    )


def test_the_folder_of_results_is_spelled_without_detours(tmp_path: Path) -> None:
    """As compilers spell it in their records."""
    out = tmp_path / "project" / ".." / "out"
    options = setup.Options(config=Path("c"), out=out, engine=None, jobs=None, quiet=False)

    assert options.results == tmp_path / "out"


@pytest.mark.parametrize("out", ["file", "file/below", "circle"])
@pytest.mark.parametrize("verb", ["trim", "stage build", "probe m", "ci evidence pack --to x"])
def test_a_folder_of_results_that_cannot_be_made_is_refused_first(
    project: Shell, verb: str, out: str
) -> None:
    """By the option's name, in one message, and nothing is left."""
    (project.folder / "file").write_text("x", encoding="utf-8")
    (project.folder / "circle").symlink_to("circle")
    before = sorted(project.folder.iterdir())

    answer = project(*verb.split(), "--out", out)

    found = "links that lead in a circle" if out == "circle" else "Not a directory"
    assert answer.status == 2
    assert answer.err == (
        f"megtrim: --out {out}: nothing can be written there: {found}\n"
        "  name a folder that can be written or made\n"
    )
    assert sorted(project.folder.iterdir()) == before


@pytest.mark.parametrize(
    ("number", "reported"),
    [
        (errno.ENOSPC, "No space left on device\n  free some space, or choose another folder"),
        (errno.EIO, "Input/output error\n  choose another folder with --out"),
    ],
)
def test_a_full_or_a_sick_disk_is_no_mistake(
    project: Shell, monkeypatch: pytest.MonkeyPatch, number: int, reported: str
) -> None:
    """It is infrastructure; more room helps the full one alone."""

    def fails(**_options: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(out, "TemporaryDirectory", fails)

    answer = project("stage", "build")

    assert answer.status == 3
    assert f"megtrim-out cannot be written: {reported}" in answer.err


@pytest.mark.parametrize(
    "words",
    [
        *("trim", "plan", "explain x", "devices check"),
        *("ci github logs --to x", "ci github baseline find"),
    ],
)
def test_no_folder_is_not_the_current_folder(shell: Shell, words: str) -> None:
    """As from a variable that is not set."""
    answer = shell(*words.split(), "--out", "")

    assert answer.status == 2
    assert "Invalid value for '--out': found nothing, expected a folder" in answer.err


@pytest.mark.parametrize(
    "verb", ["trim", "stage build", "plan", "ci evidence pack", "ci github baseline rebuild"]
)
def test_whatever_takes_an_image_can_do_without(shell: Shell, verb: str) -> None:
    """What is built without one is packed without one, and what an error advises is an option."""
    reported = shell(*verb.split(), "--help").out

    assert "--image NAME" in reported
    assert "--no-docker" in reported


@pytest.mark.parametrize(
    ("trim", "quick", "level"),
    [
        ("{level: region}", True, "region"),
        ("{level: function, layout: upstream}", True, "function"),
        # The layout is a mistake there, and a quick look does not mind it.
        ("{level: function, base: plain, layout: upstream}", True, None),
        ("{level: region}", False, None),
    ],
)
def test_a_quick_look_knows_what_is_configured(
    shell: Shell, trim: str, quick: bool, level: str | None
) -> None:
    """It is set next to what the full trim made, so it knows how that trims."""
    config = shell.folder / "megtrim.yaml"
    (shell.folder / "m.mge").write_bytes(SAMPLE_MODEL)
    text = TOO_LONG.replace("2 days", "2 min")
    config.write_text(f"{text}trim: {trim}\n", encoding="utf-8")
    options = setup.Options(
        config=config,
        out=shell.folder / "out",
        engine=None,
        jobs=1,
        quiet=True,
        quick=quick,
    )

    made = setup.open_session(options)

    assert (made.request.full and made.request.full.config.trim.level) == level
    assert made.request.config.trim.level == ("function" if quick else "region")


PACKED = """\
version: 1
engine: {kind: sample}
toolchain: {kind: clang-linux-arm64}
trim: {relocations: RELR}
classes: [{name: arm, qemu_cpu: max}]
devices: [{name: old, kind: qemu, class: arm, sysroot: system}]
models: [{name: m, file: m.mge, scenarios: [{name: s}]}]
"""


@pytest.mark.parametrize(("packing", "status"), [("relr", 2), ("none", 0)])
def test_a_device_that_cannot_load_packed_programs_is_refused_before_a_build(
    project: Shell, monkeypatch: pytest.MonkeyPatch, packing: str, status: int
) -> None:
    """The emulator's system files are at hand."""
    found = replace(TOOLCHAIN, kind="clang-linux-arm64", machine="aarch64", sysroot=None)
    monkeypatch.setattr(toolchains, "find", lambda *_arguments, **_more: found)
    emulator = project.folder / "bin" / "qemu-aarch64"
    emulator.parent.mkdir()
    emulator.write_text("#!/bin/sh\necho max\n", encoding="utf-8")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{emulator.parent}:{os.environ['PATH']}")
    library = project.folder / "system" / "lib" / "libc.so.6"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"GLIBC_2.31")
    text = PACKED.replace("RELR", packing)
    (project.folder / "megtrim.yaml").write_text(text, encoding="utf-8")

    answer = project("plan")

    assert answer.status == status
    reported = (
        "megtrim: device old: its C library is older than glibc 2.36, and cannot load packed "
    )
    assert answer.err.startswith(reported) is (packing == "relr")


def _ask_for_base(folder: Path) -> setup.Options:
    """Return the options of a night that is compared with an earlier build."""
    return setup.Options(
        config=Path("megtrim.yaml"), out=folder, engine=None, jobs=None, quiet=False, base=folder
    )


@pytest.mark.parametrize("left", [(), ("build/torn/bin/load_and_run",)])
def test_an_earlier_program_that_is_missing_is_a_warning(
    tmp_path: Path, left: tuple[str, ...]
) -> None:
    """A night is measured without it; half of a build is none."""
    for name in left:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    options = _ask_for_base(tmp_path)
    printed = io.StringIO()

    assert setup._find_base(options, Console(printed, quiet=False)) is None
    assert "holds no plain build: times are compared with no earlier one" in printed.getvalue()
    assert setup._find_base(replace(options, base=None), Console(printed, quiet=False)) is None


def test_an_earlier_build_of_another_megtrim_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And is called so."""
    Store(tmp_path).ensure("build", "plain", {}, lambda _: sample(BuildResult), BuildResult)
    monkeypatch.setattr(stores, "code_digest", lambda: "another")
    options = _ask_for_base(tmp_path)
    printed = io.StringIO()

    assert setup._find_base(options, Console(printed, quiet=False)) is None
    assert "holds a plain build of another version of megtrim: times are" in printed.getvalue()
