"""``megtrim export`` and ``release``: when they write, and when they do not."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from megtrim.chain.session import Session
from megtrim.release.archive import ReleaseFile, from_path, from_text, write_archive
from megtrim.verdict.model import to_json
from support.prefab import read_package, unzip
from unit.cli.support import Answer, Shell
from unit.elf.made_objects import shared_library
from unit.release.examples import documents, write, write_for_android
from unit.trim.stages.support import open_session
from unit.verdict.examples import passing

Export = Callable[..., Answer]


@pytest.fixture
def export(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Export:
    def call(*arguments: str, codes: tuple[int, ...] = (0,)) -> Answer:
        def chain(*_: Any, **__: Any) -> Any:
            return open_session(shell.folder)[0], list(codes)

        monkeypatch.setattr("megtrim.cli.release.run_chain", chain)
        monkeypatch.setattr(
            "megtrim.cli.release.collect_export", lambda _: (from_text("README.md", "hello\n"),)
        )
        return shell("export", *arguments)

    return call


def test_it_says_where_the_files_are(export: Export, shell: Shell) -> None:
    answer = export("trimmed")

    assert (answer.status, answer.out) == (0, "1 file in trimmed\n")
    assert (shell.folder / "trimmed/README.md").read_text(encoding="utf-8") == "hello\n"


@pytest.mark.parametrize(("codes", "status"), [((0, 1), 1), ((0, 3), 3), ((1, 3), 1)])
def test_a_trim_that_fails_leaves_nothing(
    export: Export, shell: Shell, codes: tuple[int, ...], status: int
) -> None:
    assert export("trimmed", codes=codes).status == status
    assert not (shell.folder / "trimmed").exists()


def test_a_folder_with_files_is_refused_before_the_trim(export: Export, shell: Shell) -> None:
    (shell.folder / "trimmed/mine").mkdir(parents=True)
    export("trimmed", codes=(130,)).expect(2, "trimmed exists already and is no empty folder")


SEVERAL = """\
version: 1
engine: {kind: sample}
toolchains:
- {name: arm64, kind: ndk, api: 23}
- {name: armv7, kind: ndk, abi: armeabi-v7a, api: 16}
models: [{name: a, file: m.mge, scenarios: [{name: default}]}]
"""
TARGETS = {"arm64": "aarch64-linux-android23", "armv7": "armv7a-linux-androideabi16"}


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
            return tuple(
                from_path(path.relative_to(made).as_posix(), path)
                for path in sorted(made.rglob("*"))
                if path.is_file()
            )

        asked: list[str] = []
        session, _ = open_session(shell.folder)
        (shell.folder / "megtrim.yaml").write_text(SEVERAL, encoding="utf-8")
        monkeypatch.setattr("megtrim.cli.release.run_chain", chain)
        monkeypatch.setattr("megtrim.cli.release.collect_export", collect)
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
    answer = export_several(failing=("armv7",)).expect(1)
    assert "not every toolchain was exported" in answer.out
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

    monkeypatch.setattr(
        "megtrim.cli.release.run_chain", lambda *_, **__: (open_session(shell.folder)[0], [0])
    )
    monkeypatch.setattr("megtrim.cli.release.collect_release", collect)
    answer = shell("release", "build", "camera-1.4")

    assert (answer.status, answer.out) == (0, "1 file in camera-1.4\n")
    assert shell("release", "build", "draft", "--draft").status == 0
    assert asked == [(version("megtrim"), False), (version("megtrim"), True)]


def test_a_trim_that_fails_is_not_released(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "megtrim.cli.release.run_chain", lambda *_, **__: (open_session(shell.folder)[0], [1])
    )
    assert shell("release", "build", "camera-1.4").status == 1
    assert not (shell.folder / "camera-1.4").exists()


def test_it_writes_the_release(shell: Shell) -> None:
    write(shell.folder / "draft")
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    answer = shell("release", "prove", "draft", "camera.tar.gz", "--verdict", "verdict.json")

    assert (answer.status, answer.out) == (0, f"{len(documents())} files in camera.tar.gz\n")
    assert shell("release", "verify", "camera.tar.gz").status == 0


def test_another_draft_is_a_failure(shell: Shell) -> None:
    write(shell.folder / "draft")
    write(shell.folder / "again", documents(program="other\n"))
    (shell.folder / "verdict.json").write_text(to_json(passing()), encoding="utf-8")
    given = ("--verdict", "verdict.json", "--again", "again")
    shell("release", "prove", "draft", "camera", *given).expect(1)
    assert not (shell.folder / "camera").exists()


LIBRARY = shared_library("LITE_run")
ARMV7 = "armv7a-linux-androideabi16"


def test_it_joins_the_libraries_of_releases(shell: Shell) -> None:
    write_for_android(shell.folder / "arm64", LIBRARY)
    armv7 = write_for_android(shell.folder / "armv7", LIBRARY, target=ARMV7)
    files = (path for path in sorted(armv7.rglob("*")) if path.is_file())
    write_archive(
        [from_path(str(path.relative_to(armv7)), path) for path in files],
        shell.folder / "armv7.tar.gz",
    )
    answer = shell("release", "aar", "out/all.aar", "arm64", "armv7.tar.gz")

    assert (answer.status, answer.out) == (
        0,
        "out/all.aar: libengine.so for arm64-v8a, armeabi-v7a\n",
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
        ("linux", 2, "linux has nothing for an AAR: it holds no shared library for Android"),
    ],
)
def test_another_release_is_refused(shell: Shell, release: str, status: int, said: str) -> None:
    write_for_android(shell.folder / "damaged", LIBRARY)
    (shell.folder / "damaged/lib/libengine.so").write_bytes(shared_library("LITE_stop"))
    write(shell.folder / "linux")
    answer = shell("release", "aar", "all.aar", release)

    assert (answer.status, said in answer.err) == (status, True)
    assert not (shell.folder / "all.aar").exists()


def test_nothing_is_overwritten(shell: Shell) -> None:
    write_for_android(shell.folder / "arm64", LIBRARY)
    Path(shell.folder / "all.aar").write_text("mine", encoding="utf-8")

    assert shell("release", "aar", "all.aar", "arm64").status == 2
    assert (shell.folder / "all.aar").read_text(encoding="utf-8") == "mine"
