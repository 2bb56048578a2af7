"""From options to a context: what committed mode refuses, and what devices do not take."""

import io
import os
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain import result_store as stores
from megtrim.core.chain.result_store import Store
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.session import setup
from megtrim.core.trim.results import BuildResult
from megtrim.libs.util.console import Console
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from unit.core.cli.support import Shell
from unit.core.trim.stages.results import sample
from unit.places.compile.projects.support import TOOLCHAIN, git, repository

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
    return shell.configure(CONFIG)


@pytest.mark.parametrize("kind", ["megengine", "sample"])
def test_an_engine_that_is_not_checked_out_comes_with_the_command(
    project: Shell, processes: ProcessRunner, kind: str
) -> None:
    engine = repository(processes, project.folder / "engine", {"src/a.cpp": ""})
    path = "third party/engine"
    text = CONFIG.replace("sample", f"{kind}, source: {path}")
    app = repository(processes, project.folder / "app", {"megtrim.yaml": text, "m.mge": "model\n"})
    git(processes, app, "submodule", "--quiet", "add", str(engine), path)
    git(processes, app, "commit", "-q", "-m", "engine")
    git(processes, app, "worktree", "add", "-q", "../tree")
    git(processes, project.folder, "clone", "-q", str(app), "clone")

    for name in ("clone", "tree"):
        folder = project.folder / name
        answer = project("plan", "--config", str(folder / "megtrim.yaml")).expect(2)
        said, command = answer.err.splitlines()[-2:]
        assert said.endswith(f": the submodule {path} of {folder} is not checked out")
        git(processes, folder, *shlex.split(command)[1:])
        assert (folder / path / "src/a.cpp").exists()
        again = project("plan", "--config", str(folder / "megtrim.yaml"))
        assert "not checked out" not in again.err


SEARCHES = (
    "megtrim.yaml:9: m/tuned@any searches for algorithms, which --committed cannot repeat\n"
    "  commit the algo.cache that a trim leaves in its profile folder, and name it as algo_cache: "
    "megtrim trim --config megtrim.yaml\n"
)
AS_IT_IS = "--committed uses the keep set as it is: leave out --accept and --traces\n"
TWO_WAYS = "--quick records which functions run: it cannot be combined with --committed\n"
UNTOUCHED = "--quick does not touch the committed keep set: leave out --accept and --traces\n"
IDLE = "--quick trims the plain build only by functions: there is nothing to do for {}\n"
FROM_PLAIN = (
    "megtrim.yaml: trim.base is plain, so nothing is traced\n"
    "  record what runs: megtrim stage functions --config megtrim.yaml\n"
)
BY_REGION = "trim.level is region, so no functions are recorded\n  add trim: {level: function}\n"
BASE = "level: function, base: plain"


@pytest.mark.parametrize(
    ("trim", "words", "message"),
    [
        *(
            (None, f"{verb} --committed", SEARCHES)
            for verb in ("trim", "plan", "stage build", "verify")
        ),
        *(
            (None, f"{verb} --quick --committed", TWO_WAYS)
            for verb in ("trim", "plan", "verify", "ci evidence pack --to bundle")
        ),
        *(
            (None, f"{verb} --quick", UNTOUCHED)
            for verb in ("plan --traces x", "trim --accept", "stage functions --accept")
        ),
        *(
            ("", f"{verb} --committed", AS_IT_IS)
            for verb in ("trim --accept", "stage header --accept", "plan --traces x")
        ),
        ("", "stage profile --committed", "--committed traces nothing, so there is nothing to p"),
        *((trim, "stage header --quick", IDLE.format("header")) for trim in ("", BASE)),
        *((trim, "stage profile --quick", IDLE.format("profile")) for trim in ("", BASE)),
        *((BASE, f"stage {verb}", FROM_PLAIN) for verb in ("profile", "header")),
        ("", "stage functions", BY_REGION),
        ("", "ci evidence pack --functions --to bundle", BY_REGION),
        ("level: function", "stage header --accept", "with trim.level: function, a keep set is "),
        ("", "verify --scenario m/x@any", "--scenario: found 'm/x@any', expected one of m/s@any"),
    ],
)
def test_what_has_no_answer_is_refused(
    project: Shell, trim: str | None, words: str, message: str
) -> None:
    if trim is not None:
        text = CONFIG.partition("  - name: tuned")[0]
        project.write("megtrim.yaml", f"{text}trim: {{{trim}}}\n")
    project(*words.split()).expect(2, message)
    assert not (project.folder / "bundle").exists()


def test_a_recorded_search_can_be_committed(project: Shell) -> None:
    config = project.folder / "megtrim.yaml"
    config.write_text(f"{CONFIG}    algo_cache: m.mge\n", encoding="utf-8")

    project("plan", "--committed").expect(2, "there is no keep set, but --committed needs one")


def test_what_devices_on_runners_do_not_take_is_refused_first(shell: Shell) -> None:
    shell.configure(TOO_LONG)("plan").expect(2, "found 172800.0, expected up to a day of seconds")


@pytest.mark.parametrize("verb", ["trim", "stage build", "probe m", "ci evidence pack --to x"])
def test_a_folder_of_results_that_cannot_be_made_is_refused_first(
    project: Shell, verb: str
) -> None:
    project.write("file", "x")
    before = sorted(project.folder.iterdir())

    answer = project(*verb.split(), "--out", "file/below").expect(2)
    assert answer.err.startswith("megtrim: --out file/below: nothing can be written there: ")
    assert sorted(project.folder.iterdir()) == before


@pytest.mark.parametrize(
    "words",
    [
        "trim",
        "plan",
        "explain x",
        "devices check",
        "ci github logs --to x",
        "ci github baseline find",
    ],
)
def test_no_folder_is_not_the_current_folder(shell: Shell, words: str) -> None:
    shell(*words.split(), "--out", "").expect(
        2, "Invalid value for '--out': found nothing, expected a folder"
    )


@pytest.mark.parametrize(
    "verb", ["trim", "stage build", "plan", "ci evidence pack", "ci github baseline rebuild"]
)
def test_whatever_takes_an_image_can_do_without(shell: Shell, verb: str) -> None:
    reported = shell(*verb.split(), "--help").out

    assert "--image NAME" in reported
    assert "--no-docker" in reported


@pytest.mark.parametrize(
    ("trim", "quick"),
    [
        # The layout is a mistake there, and a quick look does not mind it.
        ("{level: function, base: plain, layout: upstream}", True),
        ("{level: region}", True),
        ("{level: region}", False),
    ],
)
def test_a_quick_look_trims_functions_whatever_is_configured(
    shell: Shell, trim: str, quick: bool
) -> None:
    shell.configure(f"{TOO_LONG.replace('2 days', '2 min')}trim: {trim}\n")
    options = Options(
        config=shell.folder / "megtrim.yaml", out=shell.folder / "out", quiet=True, quick=quick
    )

    made = setup.open_session(options)

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
    found = replace(TOOLCHAIN, kind="clang-linux-arm64", machine="aarch64", sysroot=None)
    monkeypatch.setattr(toolchain_kinds, "find", lambda *_arguments, **_more: found)
    emulator = project.folder / "bin" / "qemu-aarch64"
    emulator.parent.mkdir()
    emulator.write_text("#!/bin/sh\necho max\n", encoding="utf-8")
    emulator.chmod(0o755)
    monkeypatch.setenv("PATH", f"{emulator.parent}:{os.environ['PATH']}")
    library = project.folder / "system" / "lib" / "libc.so.6"
    library.parent.mkdir(parents=True)
    library.write_bytes(b"GLIBC_2.31")
    project.write("megtrim.yaml", PACKED.replace("RELR", packing))

    answer = project("plan").expect(status)
    reported = (
        "megtrim: device old: its C library is older than glibc 2.36, and cannot load packed "
    )
    assert answer.err.startswith(reported) is (packing == "relr")


@pytest.mark.parametrize("base", ["megtrim-out", "./x/../megtrim-out"])
def test_what_a_run_writes_is_no_base_of_it(
    project: Shell, monkeypatch: pytest.MonkeyPatch, base: str
) -> None:
    """A second one would take the programs of the first, of this commit, for the earlier ones."""
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    refused = project("trim", "--base", base)

    refused.expect(2, f"--base: found {Path(base)}, expected a folder that this run does not fill")
    assert "trim the earlier commit with another --out" in refused.err
    monkeypatch.setenv("GITHUB_ACTIONS", "true")  # the size check does so, once
    setup._refuse_contradictions(Options(out=Path("megtrim-out"), base=Path(base)))


@pytest.mark.parametrize(
    ("left", "by_another", "message"),
    [
        ((), False, "contains no plain build: nothing is compared with an earlier one"),
        (("build/torn/bin/load_and_run",), False, "contains no plain build: nothing"),
        ((), True, "contains a plain build of another version of megtrim: nothing is"),
    ],
)
def test_an_earlier_program_that_is_missing_is_a_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    left: tuple[str, ...],
    by_another: bool,
    message: str,
) -> None:
    for name in left:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).touch()
    if by_another:
        Store(tmp_path).ensure("build", "plain", {}, lambda _: sample(BuildResult), BuildResult)
        monkeypatch.setattr(stores, "code_digest", lambda: "another")
    printed = io.StringIO()

    out = tmp_path / "out"
    assert setup._find_base(Options(out=out, base=tmp_path), Console(printed)) == {}
    assert message in printed.getvalue()
    assert setup._find_base(Options(out=out), Console(printed)) == {}
