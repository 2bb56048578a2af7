"""Running the stages up to one: what is refused, and what is shown of the results."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.cli.stage.chain import clear_final
from megtrim.store import Store
from unit.cli.support import Shell
from unit.stages.support import CONFIG


@pytest.mark.parametrize(
    "arguments",
    [
        *(("trim", "--accept"), ("stage header", "--accept")),
        *(("trim", "--traces", "somewhere"), ("plan", "--traces", "somewhere")),
    ],
)
def test_a_committed_keep_set_is_taken_as_it_is(shell: Shell, arguments: tuple[str, ...]) -> None:
    """There is nothing to accept, and no trace to use."""
    verb, *rest = arguments
    answer = shell(*verb.split(), "--committed", *rest)

    assert answer.status == 2
    assert answer.err == (
        "megtrim: --committed uses the keep set as it is: leave out --accept and --traces\n"
    )


def test_with_a_committed_keep_set_there_is_nothing_to_profile(shell: Shell) -> None:
    """Nothing is silently left undone."""
    answer = shell("stage", "profile", "--committed")

    assert answer.status == 2
    assert answer.err == (
        "megtrim: --committed traces nothing, so there is nothing to profile\n"
        "  leave --committed out\n"
    )


@pytest.mark.parametrize(
    ("trim", "arguments", "said"),
    [
        ("level: region", ("stage", "functions"), "trim.level is region, so no functions are"),
        (
            "level: function, base: plain",
            ("stage", "profile"),
            "trim.base is plain, so nothing is traced",
        ),
        (
            "level: function",
            ("stage", "header", "--accept"),
            "with trim.level: function the keep set is whole only with its functions",
        ),
        (
            "level: region",
            ("verify", "--scenario", "m/other@any"),
            "--scenario: found 'm/other@any', expected one of m/s@any",
        ),
        ("level: region", ("stage", "header", "--quick"), "--quick trims the plain build by "),
    ],
)
def test_a_stage_without_work_says_why(
    shell: Shell, trim: str, arguments: tuple[str, ...], said: str
) -> None:
    """Before anything is built."""
    shell.sample("tiny-vgg.sample").rename(shell.folder / "m.mge")
    (shell.folder / "megtrim.yaml").write_text(
        f"{CONFIG}toolchain: {{kind: host}}\ndevices: [{{name: h, kind: local, class: any}}]\n"
        f"trim: {{{trim}}}\n",
        encoding="utf-8",
    )
    answer = shell(*arguments)

    assert answer.status == 2
    assert said in answer.err


def test_an_old_report_is_removed_with_the_results_that_it_described(tmp_path: Path) -> None:
    """And nothing happens where there is none."""
    store = Store(tmp_path)
    (tmp_path / "final").mkdir()
    (tmp_path / "final" / "verdict.json").touch()
    clear_final(store)
    clear_final(store)

    assert not (tmp_path / "final").exists()
