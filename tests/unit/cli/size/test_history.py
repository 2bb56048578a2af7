"""``megtrim size history``: a table of commits, from a history or from files that runs stored."""

import json

from jsonschema import Draft202012Validator

from megtrim.cli.ci.schema import make_schema
from megtrim.history.folder import append_to_folder
from support.clock import clock_at
from support.history_entries import make_sizes
from unit.cli.support import Shell


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

    answer = shell("size", "history", "--since", "2026-11-02").expect(0)
    lines = answer.out.splitlines()
    assert lines[0] == "android/megtrim.yaml app reduced"
    assert "megtrim.yaml app reduced" in lines
    assert "  changed most: +4 KiB at 000000000000 on 2026-11-03" in lines
    assert any("kernels +3.9 KiB, other +96 B" in line for line in lines), answer.out
    assert "2026-11-01" not in answer.out


def test_a_trend_is_drawn_and_summed_up(shell: Shell) -> None:
    append_to_folder(shell.folder / "perf-history", [make_sizes(1, 2048), make_sizes(2, 3072)])

    _, _, _, _, row, *more = shell("size", "history").out.splitlines()

    assert row.split()[2:6] == ["3,072", "3", "KiB", "+1"]
    assert "  2 commits since 2026-11-01: +1 KiB (+50.0%)" in more
    assert "  trend: ▁█" in more


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
    append_to_folder(shell.folder / "perf-history", [make_sizes(1, 1000)])
    assert "budget" not in shell("size", "history").out
    (shell.folder / "megtrim.yaml").write_text("version: [", encoding="utf-8")

    answer = shell("size", "history").expect(0, "no budgets: megtrim.yaml")
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
