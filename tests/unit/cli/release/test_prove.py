"""``megtrim release prove``: what it writes, and its exit status."""

from __future__ import annotations

from megtrim.verdict.model import to_json
from unit.cli.support import Shell
from unit.release.examples import documents, write
from unit.verdict.examples import passing


def test_it_writes_the_release(shell: Shell) -> None:
    """As one file, if that is what its name says."""
    write(shell.folder / "draft")
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    answer = shell("release", "prove", "draft", "camera.tar.gz", "--verdict", "verdict.json")

    assert (answer.status, answer.out) == (0, f"{len(documents())} files in camera.tar.gz\n")
    assert shell("release", "verify", "camera.tar.gz").status == 0


def test_another_draft_is_a_failure(shell: Shell) -> None:
    """Nothing is written."""
    write(shell.folder / "draft")
    write(shell.folder / "again", documents(program="other\n"))
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    given = ("--verdict", "verdict.json", "--again", "again")
    answer = shell("release", "prove", "draft", "camera", *given)

    assert answer.status == 1
    assert not (shell.folder / "camera").exists()
