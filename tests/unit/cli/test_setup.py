"""From options to a context: what committed mode refuses, and what devices do not take."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.cli import setup
from unit.cli.support import Shell

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
    """A configuration whose second scenario searches for algorithms."""
    (shell.folder / "m.mge").write_bytes(b"model")
    (shell.folder / "megtrim.yaml").write_text(CONFIG, encoding="utf-8")
    return shell


@pytest.mark.parametrize("verb", ["trim", "plan", "build", "verify"])
def test_a_search_cannot_be_committed(project: Shell, verb: str) -> None:
    """Its result is timing: the team records it, and is told how."""
    answer = project(verb, "--committed")

    assert answer.status == 2
    assert answer.err == (
        "megtrim: megtrim.yaml:9: m/tuned@any searches for algorithms, which --committed cannot "
        "repeat\n  record the cache: `megtrim trim` left algo.cache in its profile folder; commit "
        "it and name it as algo_cache\n"
    )


def test_a_recorded_search_can_be_committed(project: Shell) -> None:
    """What lacks then is the keep set itself."""
    config = project.folder / "megtrim.yaml"
    config.write_text(f"{CONFIG}    algo_cache: m.mge\n", encoding="utf-8")

    answer = project("plan", "--committed")

    assert answer.status == 2
    assert "there is no keep set, which --committed trims by" in answer.err


@pytest.mark.parametrize("verb", ["trim", "plan", "build"])
def test_what_devices_on_runners_do_not_take_is_refused_first(shell: Shell, verb: str) -> None:
    """Not when it is packed, after a verdict that had to do without them."""
    (shell.folder / "m.mge").write_bytes(b"model")
    (shell.folder / "megtrim.yaml").write_text(TOO_LONG, encoding="utf-8")

    answer = shell(verb)

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


@pytest.mark.parametrize(
    "words",
    [("trim",), ("build",), ("plan",), ("evidence", "pack"), ("github", "baseline", "rebuild")],
    ids=" ".join,
)
def test_whatever_takes_an_image_can_do_without(shell: Shell, words: tuple[str, ...]) -> None:
    """What is built without one is packed without one, and what an error advises is an option."""
    told = shell(*words, "--help").out

    assert "--image NAME" in told
    assert "--no-docker" in told
