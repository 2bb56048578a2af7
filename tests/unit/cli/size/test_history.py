"""``megtrim size history``: a table of commits, from a history or from files that runs stored."""

from __future__ import annotations

import json

from jsonschema import Draft202012Validator

from megtrim.build_spec import Origin
from megtrim.cli.ci.schema import make_schema
from megtrim.history.folder import append_to_folder
from megtrim.size.baseline import dump_sizes
from megtrim.size.budgets import Baseline
from support.clock import clock_at
from support.history_entries import make_sizes
from unit.cli.support import Shell


def store(shell: Shell, run: int, size_bytes: int) -> None:
    origin = Origin(
        project="app",
        config="megtrim.yaml",
        commit=f"{run:040x}",
        committed_at=f"2026-11-0{run}T02:00:00Z",
    )
    folder = shell.folder / "runs" / str(run)
    folder.mkdir(parents=True)
    text = dump_sizes(Baseline(sizes={("app", "reduced"): size_bytes}, origin=origin))
    (folder / "sizes.json").write_text(text, encoding="utf-8")


def test_each_commit_has_a_row(shell: Shell) -> None:
    store(shell, 2, 3072)
    store(shell, 1, 2048)

    answer = shell("size", "history", "runs")

    assert answer.status == 0
    title, _, _, *rows = answer.out.splitlines()
    assert title == "megtrim.yaml app reduced"
    assert [row.split()[0] for row in rows[:2]] == ["2026-11-01", "2026-11-02"]
    assert rows[1].split()[2:] == ["3,072", "3", "KiB", "+1", "KiB"]
    assert "  2 commits since 2026-11-01: +1 KiB (+50.0%)" in rows
    assert "  trend: ▁█" in rows
    data = json.loads(shell("size", "history", "runs", "--json").out)
    assert [each["growth_bytes"] for each in data["trends"][0]["points"]] == [None, 1024]


def test_the_history_is_read_and_says_what_changed(shell: Shell) -> None:
    append_to_folder(
        shell.folder / "perf-history",
        [
            make_sizes(1, 9000, kernels=1000),
            make_sizes(2, 1024, kernels=100),
            make_sizes(3, 5120, kernels=4100),
            make_sizes(3, 77, config="android/megtrim.yaml"),
        ],
    )

    answer = shell("size", "history", "--since", "2026-11-02")

    assert answer.status == 0
    lines = answer.out.splitlines()
    assert lines[0] == "android/megtrim.yaml app reduced"
    assert "megtrim.yaml app reduced" in lines
    assert "  changed most: +4 KiB at 000000000000 on 2026-11-03" in lines
    assert any("kernels +3.9 KiB, other +96 B" in line for line in lines), answer.out
    assert "2026-11-01" not in answer.out


def test_long_tables_are_cut(shell: Shell) -> None:
    append_to_folder(
        shell.folder / "perf-history", [make_sizes(day, 1000 + day) for day in range(1, 29)]
    )

    with clock_at("2026-12-01"):
        answer = shell("size", "history", "--last", "2")

    assert "  26 earlier commits: --last 0 shows all" in answer.out
    assert "  28 commits since 2026-11-01: +27 B (+2.7%)" in answer.out
    assert "earlier" not in shell("size", "history", "--last", "0").out


def test_budgets_are_those_of_the_checkout(shell: Shell) -> None:
    """A configuration that is broken has none, which is said, and its sizes are shown."""
    append_to_folder(shell.folder / "perf-history", [make_sizes(1, 1000)])
    assert "budget" not in shell("size", "history").out
    (shell.folder / "megtrim.yaml").write_text("version: [", encoding="utf-8")

    answer = shell("size", "history")

    assert answer.status == 0
    assert "no budgets: megtrim.yaml" in answer.err
    assert "1,000" in answer.out


def test_json_has_a_schema(shell: Shell) -> None:
    path, broken = append_to_folder(
        shell.folder / "perf-history", [make_sizes(1, 1000, a=1), make_sizes(2, 1100, a=9)]
    )
    append_to_folder(shell.folder / "perf-history", [make_sizes(3, 1200, a=9)])
    (shell.folder / "perf-history" / broken).write_text("{", encoding="utf-8")

    answer = shell("size", "history", "--json")

    document = json.loads(answer.out)
    Draft202012Validator(make_schema("size-history")).validate(document)
    assert [each["path"] for each in document["unreadable"]] == [broken]
    assert f"left out: {broken}:1:" in answer.err
    assert [each["size_bytes"] for each in document["trends"][0]["points"]] == [1000, 1200]
    assert path != broken


def test_what_says_no_commit_is_left_out(shell: Shell) -> None:
    (shell.folder / "sizes.json").write_text(
        dump_sizes(Baseline(sizes={("app", "reduced"): 1})), encoding="utf-8"
    )

    answer = shell("size", "history", "sizes.json")

    assert answer.status == 0
    assert answer.out == "found no size of reduced in 0 commits\n"
    assert "left out: sizes.json: found sizes of no commit" in answer.err


def test_a_folder_without_sizes_is_an_error(shell: Shell) -> None:
    (shell.folder / "runs").mkdir()

    answer = shell("size", "history", "runs")

    assert answer.status == 2
    assert "runs: found no sizes.json in this folder, expected at least one" in answer.err
