"""``megtrim export`` and ``release``: their words, files and exit status."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.chain.graph import Stage
from megtrim.core.chain.result_store import Store
from megtrim.core.chain.session import Session
from megtrim.core.checks.invocation import Options
from megtrim.core.verdict.model import to_json
from megtrim.ship.release.archive import ReleaseFile, from_path, from_text, write_archive
from support.prefab import read_package, unzip
from unit.core.cli.support import Answer, Shell
from unit.core.trim.stages.support import open_session
from unit.core.verdict.examples import passing
from unit.libs.elf.made_objects import shared_library
from unit.ship.release.examples import as_files, documents, sha, write, write_for_android

Export = Callable[..., Answer]


def end_chain(shell: Shell, monkeypatch: pytest.MonkeyPatch, *codes: int) -> None:
    ended = open_session(shell.folder)[0], list(codes)
    monkeypatch.setattr("megtrim.ship.cli.release.run_chain", lambda *_, **__: ended)


@pytest.fixture
def export(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Export:
    def call(*arguments: str, codes: tuple[int, ...] = (0,)) -> Answer:
        end_chain(shell, monkeypatch, *codes)
        monkeypatch.setattr(
            "megtrim.ship.cli.release.collect_export",
            lambda _: (from_text("README.md", "hello\n"),),
        )
        return shell("export", *arguments)

    return call


def test_it_says_where_the_files_are(export: Export, shell: Shell) -> None:
    export("trimmed").expect(0, out="1 file in trimmed\n")
    assert shell.read("trimmed/README.md") == "hello\n"


@pytest.mark.parametrize(("codes", "status"), [((0, 1), 1), ((0, 3), 3), ((1, 3), 1)])
def test_a_trim_that_fails_leaves_nothing(
    export: Export, shell: Shell, codes: tuple[int, ...], status: int
) -> None:
    assert export("trimmed", codes=codes).status == status
    assert not (shell.folder / "trimmed").exists()


def test_a_folder_with_files_is_refused_before_the_trim(export: Export, shell: Shell) -> None:
    (shell.folder / "trimmed/mine").mkdir(parents=True)
    export("trimmed", codes=(130,)).expect(2, "trimmed exists already and is not an empty folder")


SEVERAL = """\
version: 1
engine: {kind: sample}
toolchains:
- {name: arm64, kind: ndk, api: 23}
- {name: armv7, kind: ndk, abi: armeabi-v7a, api: 16}
models: [{name: a, file: m.mge, scenarios: [{name: default}]}]
"""
TARGETS = {"arm64": "aarch64-linux-android23", "armv7": "armv7a-linux-androideabi16"}


def list_files(folder: Path) -> tuple[ReleaseFile, ...]:
    paths = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return tuple(from_path(path.relative_to(folder).as_posix(), path) for path in paths)


@pytest.fixture
def export_several(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Export:
    """Return ``export`` of a file for two ABIs; ``failing`` names those whose trim fails."""

    def call(*, failing: tuple[str, ...] = ()) -> Answer:
        def chain(options: Any, *_: Any, **__: Any) -> tuple[Session, list[int]]:
            asked.append(str(options.config).partition("#")[2])
            return session, [int(asked[-1] in failing)]

        def collect(_: Session) -> tuple[ReleaseFile, ...]:
            made = shell.folder / "made" / asked[-1]
            write_for_android(made, shared_library("LITE_run"), target=TARGETS[asked[-1]])
            return list_files(made)

        asked: list[str] = []
        session, _ = open_session(shell.folder)
        shell.write("megtrim.yaml", SEVERAL)
        monkeypatch.setattr("megtrim.ship.cli.release.run_chain", chain)
        monkeypatch.setattr("megtrim.ship.cli.release.collect_export", collect)
        return shell("export", "trimmed")

    return call


def test_several_toolchains_have_a_folder_each_and_one_aar(
    export_several: Export, shell: Shell
) -> None:
    answer = export_several()
    file = Path("trimmed/MegEngineTrimmed.aar")

    assert answer.status == 0
    assert answer.out.endswith(f"2 toolchains in trimmed; {file} is for arm64-v8a, armeabi-v7a\n")
    _, modules = read_package(unzip((shell.folder / file).read_bytes()))
    assert modules["shared"].libraries.keys() == {"arm64-v8a", "armeabi-v7a"}
    assert (shell.folder / "trimmed/armv7/lib/libengine.so").is_file()


def test_without_one_of_them_there_is_no_joint_aar(export_several: Export, shell: Shell) -> None:
    assert "not every toolchain was exported" in export_several(failing=("armv7",)).expect(1).out
    assert sorted(each.name for each in (shell.folder / "trimmed").iterdir()) == ["arm64"]


def test_a_taken_folder_is_refused_before_the_first_toolchain(
    export_several: Export, shell: Shell
) -> None:
    (shell.folder / "trimmed").mkdir()
    (shell.folder / "trimmed/mine").touch()

    assert export_several().status == 2


def test_it_states_its_own_version(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def collect(_: Any, *, megtrim: str, draft: bool) -> tuple[ReleaseFile, ...]:
        asked.append((megtrim, draft))
        return (from_text("SHA256SUMS", "\n"),)

    end_chain(shell, monkeypatch, 0)
    monkeypatch.setattr("megtrim.ship.cli.release.collect_release", collect)
    shell("release", "build", "camera-1.4").expect(0, out="1 file in camera-1.4\n")
    assert shell("release", "build", "draft", "--draft").status == 0
    assert asked == [(version("megtrim"), False), (version("megtrim"), True)]


def test_a_trim_that_fails_is_not_released(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    end_chain(shell, monkeypatch, 1)
    assert shell("release", "build", "camera-1.4").status == 1
    assert not (shell.folder / "camera-1.4").exists()


def test_it_writes_the_release(shell: Shell) -> None:
    write(shell.folder / "draft")
    shell.write("verdict.json", to_json(passing()))
    shell("release", "prove", "draft", "camera.tar.gz", "--verdict", "verdict.json").expect(
        0, out=f"{len(documents())} files in camera.tar.gz\n"
    )
    assert shell("release", "verify", "camera.tar.gz").status == 0


def test_another_draft_is_a_failure(shell: Shell) -> None:
    write(shell.folder / "draft")
    write(shell.folder / "again", documents(program="other\n"))
    shell.write("verdict.json", to_json(passing()))
    given = ("--verdict", "verdict.json", "--again", "again")
    shell("release", "prove", "draft", "camera", *given).expect(1)
    assert not (shell.folder / "camera").exists()


LIBRARY = shared_library("LITE_run")


def test_it_joins_the_libraries_of_releases(shell: Shell) -> None:
    write_for_android(shell.folder / "arm64", LIBRARY)
    armv7 = write_for_android(shell.folder / "armv7", LIBRARY, target=TARGETS["armv7"])
    write_archive(list_files(armv7), shell.folder / "armv7.tar.gz")
    shell("release", "aar", "out/all.aar", "arm64", "armv7.tar.gz").expect(
        0, out="out/all.aar: libengine.so for arm64-v8a, armeabi-v7a\n"
    )
    data = (shell.folder / "out/all.aar").read_bytes()
    _, modules = read_package(unzip(data))
    assert modules["shared"].libraries.keys() == {"arm64-v8a", "armeabi-v7a"}
    assert shell("release", "aar", "again.aar", "armv7", "arm64").status == 0
    assert (shell.folder / "again.aar").read_bytes() == data


@pytest.mark.parametrize(
    ("release", "status", "said"),
    [
        ("damaged", 1, "lib/libengine.so was changed"),
        ("linux", 2, "linux has nothing for an AAR: it has no shared library for Android"),
    ],
)
def test_another_release_is_refused(shell: Shell, release: str, status: int, said: str) -> None:
    write_for_android(shell.folder / "damaged", LIBRARY)
    (shell.folder / "damaged/lib/libengine.so").write_bytes(shared_library("LITE_stop"))
    write(shell.folder / "linux")
    shell("release", "aar", "all.aar", release).expect(status, said)
    assert not (shell.folder / "all.aar").exists()


def test_nothing_is_overwritten(shell: Shell) -> None:
    write_for_android(shell.folder / "arm64", LIBRARY)
    shell.write("all.aar", "mine")

    assert shell("release", "aar", "all.aar", "arm64").status == 2
    assert shell.read("all.aar") == "mine"


def test_a_whole_release_passes_as_a_folder_and_as_an_archive(shell: Shell) -> None:
    write(shell.folder / "camera-1.4")
    digest = sha(documents()["SHA256SUMS"])
    answer = shell("release", "verify", "camera-1.4", "--sha256", digest).expect(0)
    assert answer.out.splitlines() == [
        "camera-1.4: 13 files as released",
        "every scenario is proven: 3 on qemu-arm64, by what the release of this digest says",
        "not proven: include (2 files): compared with release.json alone",
        "not proven: licences (2 files): compared with release.json alone",
        "not proven: share/configuration (1 file): compared with release.json alone",
        "not proven: share/keepset.json: its scenarios and models fit; what ran is not compared",
        f"sha256 of its SHA256SUMS: {digest}",
    ]
    assert shell("release", "verify", "camera-1.4", "--sha256", digest.upper()).status == 0
    write_archive(as_files(documents()), shell.folder / "camera-1.4.tar.gz")
    assert shell("release", "verify", "camera-1.4.tar.gz").status == 0


def test_damage_is_a_failure(shell: Shell) -> None:
    write(shell.folder / "camera-1.4")
    (shell.folder / "camera-1.4/bin/load_and_run").unlink()
    shell.write("camera-1.4/more", "")
    assert shell("release", "verify", "camera-1.4").expect(1, out="").err.splitlines() == [
        "megtrim: camera-1.4 is not what was released:",
        "  bin is an empty folder, which no release has",
        "  more was added: SHA256SUMS does not name it",
        "  bin/load_and_run is missing",
        "  fetch it again from where it was released",
    ]


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
    monkeypatch.setattr("megtrim.ship.cli.release.run_chain", chain)
    monkeypatch.setattr("megtrim.ship.cli.release.compare_rebuild", lambda *_, **_more: differ)
    # Results of an earlier run would be read in place of a build.
    earlier = Store(shell.folder / "megtrim-out/rebuilt")
    earlier.claim("reduce/0123456789abcdef0123")
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
    words = ("--device", device) if device else ()
    answer, asked = rebuild(shell, monkeypatch, *words)

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
            "--reuse uses earlier results",
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
    shell("release", "verify", *given).expect(2, said)


def test_a_packaged_file_that_is_not_there_is_a_mistake(shell: Shell) -> None:
    write(shell.folder / "r")
    asked = shell("release", "verify", "r", "--file", "none.so")
    asked.expect(2, "none.so: cannot be read: No such file", out="")


def test_a_packaged_file_of_something_else_is_a_failure(shell: Shell) -> None:
    write(shell.folder / "r")
    shell.write("other.so", "other")
    said = "other.so is none of bin/load_and_run, lib/libengine.so: it is not an ELF file"
    answer = shell("release", "verify", "r", "--file", "other.so").expect(1, said)
    assert "every scenario is proven" in answer.out
