"""What the configuration asks of the engine, refused before a build where the tree misses it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from megtrim.build.engines.checkout import Checkout, take
from megtrim.build.engines.megengine.engine import MegEngine
from megtrim.cli.session.preflight import (
    expect_known_folders,
    expect_known_options,
    expect_usable_files,
    list_named_files,
)
from megtrim.config.load import LoadedConfig, load_config
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.build.engines.megengine_trees import NEWEST, OLDEST
from unit.build.engines.support import write

CONFIG = """\
version: 1
engine:
  kind: megengine
  source: engine
  cmake:
    CMAKE_CXX_FLAGS: -g0
    {option}
models:
  - name: m
    file: m.mge
    scenarios:
      - name: s
        args: [{args}]
"""


def configured(tmp_path: Path, option: str = "MGE_WITH_TEST: false", args: str = "--cpu") -> (
    LoadedConfig
):  # fmt: skip
    files = {"megtrim.yaml": CONFIG.format(option=option, args=args), "m.mge": "model"}
    (tmp_path / "engine").mkdir(exist_ok=True)
    write(tmp_path, files)
    return load_config(tmp_path / "megtrim.yaml")


@pytest.fixture
def newest(processes: ProcessRunner, tmp_path: Path) -> MegEngine:
    return MegEngine(write(tmp_path / "engine", NEWEST), processes)


@pytest.fixture
def oldest(processes: ProcessRunner, tmp_path: Path) -> MegEngine:
    return MegEngine(write(tmp_path / "engine", OLDEST), processes)


def test_what_the_tree_has_passes(newest: MegEngine, tmp_path: Path) -> None:
    """Which options of CMake there are, CMake says; flags of the program are known here."""
    expect_known_options(configured(tmp_path), newest)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("MGE_WITH_MINIMUM_SIZE: true", "the key trim.minimum_size in its place"),
        ("MGE_BIN_REDUCE: x.h", "no such key: megtrim passes the header that it makes"),
        (
            "CMAKE_PROJECT_MegEngine_INCLUDE: x.cmake",
            "CMAKE_PROJECT_INCLUDE, which megtrim leaves to you",
        ),
    ],
)
def test_what_megtrim_sets_is_refused(
    oldest: MegEngine, tmp_path: Path, option: str, expected: str
) -> None:
    """Although the tree has it: it distinguishes the variants."""
    with pytest.raises(InputError) as caught:
        expect_known_options(configured(tmp_path, option), oldest)

    name = option.partition(":")[0]
    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:7: engine.cmake.{name}: found an option that megtrim sets, "
        f"expected {expected}"
    )


def test_flags_are_those_of_the_generation(
    processes: ProcessRunner, newest: MegEngine, tmp_path: Path
) -> None:
    """The same arguments pass with one tree and not with another."""
    loaded = configured(tmp_path, args="--fuse-grain")
    expect_known_options(loaded, newest)
    older = MegEngine(write(tmp_path / "older", OLDEST), processes)
    with pytest.raises(InputError) as caught:
        expect_known_options(loaded, older)

    assert caught.value.message == (
        f"{tmp_path}/megtrim.yaml:12: m/s@any: the flag --fuse-grain is unknown to this engine"
    )


def test_flags_are_those_of_the_tree(processes: ProcessRunner, tmp_path: Path) -> None:
    """A fork's own flag is known, and a flag of another release is not."""
    source = {
        "lite/load_and_run/src/own.cpp": 'DEFINE_bool(cpu, 0, "");DEFINE_bool(our_own, 0, "")'
    }
    engine = MegEngine(write(tmp_path / "engine", {**NEWEST, **source}), processes)

    expect_known_options(configured(tmp_path, args="--cpu, --our-own"), engine)
    with pytest.raises(InputError, match="the flag --fitting is unknown to this engine"):
        expect_known_options(configured(tmp_path, args="--fitting"), engine)


KEEPING = """\
version: 1
engine: {{kind: sample, source: engine}}
trim:
  level: function
  keep: [{keep}]
models:
  - name: m
    file: m.mge
    also: [n.mge]
    scenarios: [{{name: s}}]
"""


def keeping(folder: Path, *keep: str, models: tuple[bytes, bytes] = (b"x", b"x")) -> LoadedConfig:
    """Return a configuration that keeps these functions, each on a line of its own."""
    for name, data in zip(("m.mge", "n.mge"), models, strict=True):
        (folder / name).write_bytes(data)
    (folder / "engine").mkdir(exist_ok=True)
    lines = ",\n    ".join(f'"{each}"' for each in keep)
    (folder / "megtrim.yaml").write_text(KEEPING.format(keep=lines), encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def tree(processes: ProcessRunner, root: Path) -> Checkout:
    files = {
        "src/base/log.cpp": "",
        "CMakeLists.txt": "add_subdirectory(third_party/dnn ${CMAKE_BINARY_DIR}/mkl-dnn)",
        "third_party/dnn/a.cpp": "",
    }
    return take(write(root, files), processes)


@pytest.mark.parametrize(
    "pattern",
    [
        *("src/base/", "./src/base/", "base/", "src/", "third_party/dnn/", "mkl-dnn/"),
        *("/usr/lib/", "my::log::*", "my::operator/", "base"),
    ],
)
def test_what_a_build_may_have_is_not_refused(
    processes: ProcessRunner, tmp_path: Path, pattern: str
) -> None:
    """Folders of the tree, one that its CMake files name, one elsewhere; and names of functions."""
    expect_known_folders(keeping(tmp_path, pattern), [tree(processes, tmp_path / "engine")])


def test_folders_that_no_tree_has_are_refused_together(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    """With their lines and with what was meant, before anything is built."""
    loaded = keeping(tmp_path, "src/bse/", "src/base", "my::*", "apps/main/", "src/mkl/")
    trees = [
        tree(processes, tmp_path / "engine"),
        take(write(tmp_path / "app", {"apps/main/main.cpp": ""}), processes),
    ]

    with pytest.raises(InputError) as caught:
        expect_known_folders(loaded, trees)

    reported = [
        (5, 0, "'src/bse/', no such folder", "src/base/"),
        (6, 1, "'src/base', no name of a function", "src/base/"),
        (9, 4, "'src/mkl/', no such folder", "src/"),
    ]
    assert caught.value.message.splitlines() == [
        f"{tmp_path}/megtrim.yaml:{line}: trim.keep[{at}]: found {found}, "
        f"expected a folder of the source, with / at its end (did you mean {meant}?)"
        for line, at, found, meant in reported
    ]
    assert caught.value.hint == "a folder that is not of the source begins with /"


def test_empty_and_cut_models_are_refused_together(tmp_path: Path) -> None:
    """By the paths that the configuration names, and their lines."""
    cut = struct.pack("<I", 1000) + b"\0\0\0\0mgv2" + bytes(20)

    with pytest.raises(InputError) as caught:
        expect_usable_files(keeping(tmp_path, "x", models=(b"", cut)))

    file = f"{tmp_path}/megtrim.yaml"
    assert caught.value.message.splitlines() == [
        f"{file}:8: m.mge: empty, expected a model",
        f"{file}:9: n.mge: truncated: it has 32 bytes, expected at least 1004",
    ]
    assert caught.value.hint == "fetch or dump the model again"


def test_models_of_formats_of_their_own_pass(tmp_path: Path) -> None:
    """An encrypted or packed one, which the engine reads."""
    expect_usable_files(keeping(tmp_path, "x", models=(b"packed", b"M")))


def test_files_that_are_named_may_be_links_to_shared_ones(tmp_path: Path) -> None:
    """What counts is the file itself."""
    loaded = keeping(tmp_path, "x", models=(b"packed", b"M"))
    (tmp_path / "n.mge").rename(tmp_path / "shared.mge")
    (tmp_path / "n.mge").symlink_to("shared.mge")

    assert list_named_files(loaded) == tuple(tmp_path / name for name in ("m.mge", "shared.mge"))
