"""``megtrim size append``: sizes become files of the history."""

from __future__ import annotations

from megtrim.build_spec import Origin
from megtrim.history.folder import read_folder
from megtrim.size.baseline import dump_sizes
from megtrim.size.commit_sizes import SIZE_FILES
from unit.cli.support import Shell

ORIGIN = Origin(config="megtrim.yaml", commit="a" * 40, committed_at="2026-11-03T02:00:00Z")


def test_sizes_are_appended_once(shell: Shell) -> None:
    """A second call changes nothing."""
    text = dump_sizes({("app", "reduced"): 100}, origin=ORIGIN)
    (shell.folder / "sizes.json").write_text(text, encoding="utf-8")

    answers = [shell("size", "append", "sizes.json") for _ in range(2)]

    assert answers[0].out == answers[1].out
    assert answers[0].out.startswith("sizes/2026/11/20261103T020000Z-aaaaaaaaaaaa-")
    (entry,) = read_folder(shell.folder / "perf-history", SIZE_FILES).entries
    assert entry.commit == "a" * 40


def test_sizes_without_a_place_are_left_out(shell: Shell) -> None:
    """That is no failure: a run without a commit has none to add."""
    (shell.folder / "sizes.json").write_text(dump_sizes({("app", "reduced"): 1}), encoding="utf-8")

    answer = shell("size", "append", "sizes.json")

    assert answer.status == 0
    assert answer.out == "found no sizes of a commit: the history stays as it is\n"
    assert not (shell.folder / "perf-history").exists()
