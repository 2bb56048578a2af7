"""``megtrim release verify``: its words and its exit status."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.graph import Stage
from megtrim.checks.invocation import Options
from megtrim.release.archive import write_archive
from unit.cli.support import Answer, Shell
from unit.release.examples import as_files, documents, sha, write
from unit.trim.stages.support import open_session


def test_a_whole_release_passes(shell: Shell) -> None:
    """And its digest is printed, to be compared with what was announced."""
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"])
    answer = shell("release", "verify", "camera-1.4", "--sha256", digest)

    assert answer.status == 0
    assert answer.out.splitlines() == [
        "camera-1.4: 13 files as released",
        "every scenario is proven: 3 on qemu-arm64, by what the release of this digest says",
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


def test_an_archive_is_read_as_it_is(shell: Shell) -> None:
    """Nothing needs to be unpacked before."""
    write_archive(as_files(documents()), shell.folder / "camera-1.4.tar.gz")

    assert shell("release", "verify", "camera-1.4.tar.gz").status == 0


def rebuild(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, *given: str, differ: tuple[str, ...] = ()
) -> tuple[Answer, list[Any]]:
    """Verify with ``--rebuild``; return the answer, and what the chain was asked for."""
    asked: list[Any] = []
    left: list[tuple[Path, bool, bool]] = []

    def chain(options: Options, stage: Stage, **_more: Any) -> Any:
        asked.append((options.committed, options.device, stage))
        left.append((options.out, options.out.exists(), options.recompile))
        return open_session(shell.folder)[0], [0]

    write(shell.folder / "camera-1.4")
    monkeypatch.setattr("megtrim.cli.release.verify.run_chain", chain)
    monkeypatch.setattr("megtrim.cli.release.verify.compare_rebuild", lambda *_, **_more: differ)
    # Results of an earlier run would be read in place of a build.
    (shell.folder / "megtrim-out/rebuilt/reduce").mkdir(parents=True)
    answer = shell("release", "verify", "camera-1.4", "--rebuild", *given)
    assert left == [(Path("megtrim-out/rebuilt"), False, True)]
    return answer, asked


def test_it_is_built_again(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """From nothing, by the committed keep set, and run as a release is."""
    answer, asked = rebuild(shell, monkeypatch)

    assert answer.status == 0
    assert answer.out.endswith("built again: 14 files have the same bytes\n")
    assert asked == [(True, None, Stage.VERDICT)]


def test_a_device_proves_it_again(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """An earlier proof does not count."""
    answer, asked = rebuild(shell, monkeypatch, "--device", "qemu")

    assert answer.out.endswith("proven again: 3 scenarios on qemu\n")
    assert asked == [(True, "qemu", Stage.VERDICT)]


def test_other_bytes_are_a_failure(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file on a line."""
    answer, _ = rebuild(shell, monkeypatch, differ=("bin/a has other bytes",))

    assert answer.status == 1
    assert "camera-1.4 is not what is built here:\n  bin/a has other bytes\n" in answer.err


def test_a_device_alone_has_nothing_to_run(shell: Shell) -> None:
    """The release holds no models."""
    write(shell.folder / "camera-1.4")

    assert shell("release", "verify", "camera-1.4", "--device", "qemu").status == 2


def test_what_was_built_before_is_not_taken(shell: Shell) -> None:
    """It would be compared with itself."""
    write(shell.folder / "camera-1.4")
    answer = shell("release", "verify", "camera-1.4", "--rebuild", "--reuse", "megtrim-out")

    assert answer.status == 2
    assert "--reuse takes what was built before" in answer.err


@pytest.mark.parametrize("given", ["", "abc", "g" * 64, f"{'a' * 64} "])
def test_a_digest_that_is_none_is_a_mistake(given: str, shell: Shell) -> None:
    """An empty one, too: a script whose variable is not set would verify anything."""
    write(shell.folder / "camera-1.4")
    answer = shell("release", "verify", "camera-1.4", "--sha256", given)

    assert answer.status == 2
    assert "expected the 64 hex digits of a sha256" in answer.err


def test_a_digest_may_be_in_capitals(shell: Shell) -> None:
    """As other tools print it."""
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"]).upper()

    assert shell("release", "verify", "camera-1.4", "--sha256", digest).status == 0


def test_no_release_is_a_mistake(shell: Shell) -> None:
    """Of whoever names it."""
    assert shell("release", "verify", "none").status == 2
