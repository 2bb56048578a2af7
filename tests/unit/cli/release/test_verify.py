"""``megtrim release verify``: its words and its exit status."""

from __future__ import annotations

from unit.cli.support import Shell
from unit.release.examples import documents, sha, write


def test_a_whole_release_passes(shell: Shell) -> None:
    """And its digest is printed, to be compared with what was announced."""
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"])
    answer = shell("release", "verify", "camera-1.4", "--sha256", digest)

    assert answer.status == 0
    assert answer.out.splitlines() == [
        "camera-1.4: 11 files are as released, every scenario is proven",
        f"sha256 of its SHA256SUMS: {digest}",
    ]


def test_damage_is_a_failure(shell: Shell) -> None:
    """Each on a line of its own, with what to do."""
    write(shell.folder / "camera-1.4")
    (shell.folder / "camera-1.4/bin/load_and_run").unlink()
    (shell.folder / "camera-1.4/more").write_text("", encoding="utf-8")
    answer = shell("release", "verify", "camera-1.4")

    assert (answer.status, answer.out) == (1, "")
    assert answer.err.splitlines() == [
        "megtrim: camera-1.4 is not what was released:",
        "  bin is an empty folder, which no release has",
        "  more was added: SHA256SUMS does not name it",
        "  bin/load_and_run is missing",
        "  fetch it again from where it was released",
    ]


def test_no_release_is_a_mistake(shell: Shell) -> None:
    """Of whoever names it."""
    assert shell("release", "verify", "none").status == 2
