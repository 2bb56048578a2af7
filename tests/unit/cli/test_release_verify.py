"""``megtrim release verify``: its words and its exit status."""

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
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"])
    answer = shell("release", "verify", "camera-1.4", "--sha256", digest).expect(0)
    assert answer.out.splitlines() == [
        "camera-1.4: 13 files as released",
        "every scenario is proven: 3 on qemu-arm64, by what the release of this digest says",
        f"sha256 of its SHA256SUMS: {digest}",
    ]


def test_damage_is_a_failure(shell: Shell) -> None:
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
    write_archive(as_files(documents()), shell.folder / "camera-1.4.tar.gz")

    assert shell("release", "verify", "camera-1.4.tar.gz").status == 0


def rebuild(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, *given: str, differ: tuple[str, ...] = ()
) -> tuple[Answer, list[Any]]:
    asked: list[Any] = []
    left: list[tuple[Path, bool, bool]] = []

    def chain(options: Options, stage: Stage, **_more: Any) -> Any:
        asked.append((options.committed, options.device, stage))
        left.append((options.out, options.out.exists(), options.recompile))
        return open_session(shell.folder)[0], [0]

    write(shell.folder / "camera-1.4")
    monkeypatch.setattr("megtrim.cli.release.run_chain", chain)
    monkeypatch.setattr("megtrim.cli.release.compare_rebuild", lambda *_, **_more: differ)
    # Results of an earlier run would be read in place of a build.
    (shell.folder / "megtrim-out/rebuilt/reduce").mkdir(parents=True)
    answer = shell("release", "verify", "camera-1.4", "--rebuild", *given)
    assert left == [(Path("megtrim-out/rebuilt"), False, True)]
    return answer, asked


@pytest.mark.parametrize(
    ("device", "said"),
    [
        (None, "built again: 14 files have the same bytes\n"),
        ("qemu", "proven again: 3 scenarios on qemu\n"),
    ],
)
def test_it_is_built_again(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, device: str | None, said: str
) -> None:
    answer, asked = rebuild(shell, monkeypatch, *(("--device", device) if device else ()))

    assert answer.status == 0
    assert answer.out.endswith(said)
    assert asked == [(True, device, Stage.VERDICT)]


def test_other_bytes_are_a_failure(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, _ = rebuild(shell, monkeypatch, differ=("bin/a has other bytes",))

    assert answer.status == 1
    assert "camera-1.4 is not what is built here:\n  bin/a has other bytes\n" in answer.err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (("none",), "none"),
        # The release holds no models.
        (("camera-1.4", "--device", "qemu"), "it needs --rebuild"),
        # It would be compared with itself.
        (
            ("camera-1.4", "--rebuild", "--reuse", "megtrim-out"),
            "--reuse takes what was built before",
        ),
        # A script whose variable is not set would verify anything.
        *(
            (("camera-1.4", "--sha256", digest), "expected the 64 hex digits of a sha256")
            for digest in ("", "abc", "g" * 64, f"{'a' * 64} ")
        ),
    ],
)
def test_mistakes_are_named(given: tuple[str, ...], said: str, shell: Shell) -> None:
    write(shell.folder / "camera-1.4")
    answer = shell("release", "verify", *given)

    assert (answer.status, said in answer.err) == (2, True)


def test_a_digest_may_be_in_capitals(shell: Shell) -> None:
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"]).upper()

    assert shell("release", "verify", "camera-1.4", "--sha256", digest).status == 0


def test_it_lists_its_verbs(shell: Shell) -> None:
    out = shell("release", "--help").out

    assert out.index("  build ") < out.index("  prove ") < out.index("  verify ")
