from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import EngineLibrary, HostProgram, Linkage, Toolchain
from megtrim.engines.megengine.engine import describe_library
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import application, builder
from megtrim.places.compile.projects.application import (
    ApplicationSpec,
    BuildEnvironment,
    entries,
    expect_possible,
)
from megtrim.places.compile.projects.checkout import Checkout
from megtrim.places.compile.projects.cmake import driver
from megtrim.places.compile.projects.cmake.driver import Job, WorkTree
from unit.places.compile.projects.support import TOOLCHAIN

NOTHING = Checkout(root=Path("/app"), files={}, commit="", dirty=())
LIBRARY = EngineLibrary(
    linkage=Linkage.STATIC,
    file="libengine.a",
    include=("include", "more/include"),
    needs=("-ldl", "-pthread"),
    link_options=("-Wl,--gc-sections",),
)
TARGETS = """\
add_library(lite_static STATIC a.cpp)
add_library( lite_shared SHARED
  b.cpp)
add_library(
  lite_static_all_in_one STATIC c.cpp)
"""


def make_spec(*, lto: bool = False, **changes: object) -> ApplicationSpec:
    changed = replace(LIBRARY, **changes)  # type: ignore[arg-type]
    return ApplicationSpec(name="classify", checkout=NOTHING, library=changed, lto=lto)


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    made = WorkTree(root=tmp_path)
    (made.build / "lite").mkdir(parents=True)
    (made.build / "lite/libengine.a").write_bytes(b"!<arch>\n")
    return made


def test_an_application_is_shown_of_the_engine(tree: WorkTree) -> None:
    assert entries(make_spec(), tree) == (
        ("MEGTRIM_ENGINE_SOURCE", f"{tree.root}/src"),
        ("MEGTRIM_ENGINE_BUILD", f"{tree.root}/build"),
        ("MEGTRIM_ENGINE_INCLUDE", f"{tree.root}/src/include;{tree.root}/src/more/include"),
        ("MEGTRIM_ENGINE_LIBRARIES", f"{tree.root}/build/lite/libengine.a;-ldl;-pthread"),
        ("MEGTRIM_ENGINE_COMPILE_OPTIONS", "-ffunction-sections;-fdata-sections"),
        ("MEGTRIM_ENGINE_LINK_OPTIONS", "-Wl,--gc-sections"),
    )
    # An archive whose parts register themselves is linked whole; optimisation at link time is
    # asked of compiler and linker.
    other = dict(entries(make_spec(whole=True, lto=True, link_options=("-flto=full",)), tree))
    assert other["MEGTRIM_ENGINE_LIBRARIES"] == ";".join(
        [
            "-Wl,--whole-archive",
            f"{tree.root}/build/lite/libengine.a",
            "-Wl,--no-whole-archive",
            "-ldl",
            "-pthread",
        ]
    )
    assert other["MEGTRIM_ENGINE_COMPILE_OPTIONS"].endswith(";-flto=full")
    assert other["MEGTRIM_ENGINE_LINK_OPTIONS"] == "-flto=full"
    with pytest.raises(ProductFailure) as caught:
        entries(make_spec(file="libother.a"), tree)
    assert caught.value.message == "the build left no libother.a, which classify links"


@pytest.mark.parametrize(
    ("version", "kind", "lto", "fits"),
    [
        ("g++ 12", "host", False, True),
        ("g++ 12", "host", True, False),
        ("Debian clang version 14", "host", True, True),
        ("0.13", "zig", True, True),
    ],
)
def test_optimisation_at_link_time_takes_clang(
    version: str, kind: str, lto: bool, fits: bool
) -> None:
    toolchain = replace(TOOLCHAIN, version=version, kind=kind)
    try:
        expect_possible(toolchain, "classify", Linkage.STATIC, lto=lto)
        possible = True
    except InputError as error:
        possible = False
        assert error.message == "application classify: lto: full needs clang, found g++ 12"

    assert possible is fits


def test_static_programs_take_no_shared_object() -> None:
    toolchain = replace(TOOLCHAIN, kind="zig", link_flags=("-static",))
    expect_possible(toolchain, "classify", Linkage.STATIC, lto=False)

    with pytest.raises(InputError) as caught:
        expect_possible(toolchain, "classify", Linkage.SHARED, lto=False)

    assert caught.value.message == (
        "application classify: zig makes static programs, without shared objects"
    )


def test_megengines_libraries() -> None:
    clang = replace(TOOLCHAIN, kind="clang-linux-arm64")
    static = describe_library(TARGETS, Linkage.STATIC, clang, root="/engine")
    shared = describe_library(
        TARGETS, Linkage.SHARED, replace(TOOLCHAIN, ndk="/ndk"), root="/engine"
    )

    assert (static.file, static.whole) == ("liblite_static_all_in_one.a", False)
    assert static.include == ("lite/include", "lite/lite-c/include")
    assert static.needs == ("-ldl", "-lrt", "-latomic", "-pthread")
    assert static.link_options == (
        "-Wl,-z,nocopyreloc",
        "-Wl,--icf=all",
        "-Wl,--gc-sections",
        "-flto=full",
    )
    assert (shared.file, shared.is_shared) == ("liblite_shared.so", True)
    assert shared.needs == ("-ldl", "-llog")
    assert shared.link_options == ("-Wl,--gc-sections",)


def workshop(tmp_path: Path, toolchain: Toolchain) -> BuildEnvironment:
    return BuildEnvironment(
        toolchain=toolchain,
        processes=ProcessRunner({}),
        jobs=1,
        env={},
        launcher=(),
        link_flags=(),
        log=tmp_path / "build.log",
        progress=lambda *_: None,
    )


@pytest.fixture
def jobs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Job, bool]]:
    """Each job of a build that only leaves its program, and whether that was there before."""
    found: list[tuple[Job, bool]] = []

    def run(job: Job, *_: object) -> None:
        found.append((job, (job.build / "classify").exists()))
        job.build.mkdir(exist_ok=True)
        (job.build / "classify").write_bytes(b"program")

    monkeypatch.setattr(driver, "run", run)
    return found


def test_another_library_starts_the_build_again(
    tree: WorkTree, tmp_path: Path, jobs: list[tuple[Job, bool]]
) -> None:
    """A link line may name it where Ninja sees no change, and the old program would stay."""
    for content in (b"one", b"one", b"two"):
        (tree.build / "lite/libengine.a").write_bytes(content)
        application.build(make_spec(), tree, workshop(tmp_path, TOOLCHAIN))

    assert [there for _, there in jobs] == [False, True, False]


@pytest.mark.parametrize(
    ("linkage", "includes", "said"),
    [
        (Linkage.SHARED, "/ndk/android.toolchain.cmake", True),
        (Linkage.STATIC, "/ndk/android.toolchain.cmake", False),
        (Linkage.SHARED, "", False),
    ],
)
@pytest.mark.usefixtures("jobs")
def test_on_android_the_way_to_the_shared_object_is_a_flag(
    tree: WorkTree, tmp_path: Path, linkage: Linkage, includes: str, said: bool
) -> None:
    toolchain = replace(TOOLCHAIN, includes=includes)
    application.build(make_spec(linkage=linkage), tree, workshop(tmp_path, toolchain))

    reported = (tmp_path / "applications/classify/toolchain.cmake").read_text(encoding="utf-8")
    assert ('add_link_options("-Wl,-rpath,$ORIGIN")' in reported) is said


def test_options_of_its_own_reach_its_build(
    tree: WorkTree, tmp_path: Path, jobs: list[tuple[Job, bool]]
) -> None:
    for value in ("ON", "ON", "OFF"):
        spec = replace(make_spec(), options=(("WITH_CAMERA", value),))
        application.build(spec, tree, workshop(tmp_path, TOOLCHAIN))

    assert [(tuple(job.options)[-1][1], there) for job, there in jobs] == [
        ("ON", False),
        ("ON", True),
        ("OFF", False),
    ]


def test_a_program_for_the_build_takes_the_place_of_a_link(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = WorkTree(root=tmp_path / "work")
    program = HostProgram(source="third_party/flatbuffers", target="flatc", place="bin/flatc")
    target = tree.source / "bin/flatc"
    target.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious", encoding="utf-8")
    target.symlink_to(elsewhere)

    def build(job: Job, _processes: ProcessRunner, _progress: Callable[..., None]) -> None:
        job.build.mkdir()
        (job.build / "flatc").write_text("flatc", encoding="utf-8")

    monkeypatch.setattr(driver, "run", build)
    builder.build_host_program(program, tree, workshop(tmp_path, TOOLCHAIN))

    assert elsewhere.read_text(encoding="utf-8") == "precious"
    assert (target.is_symlink(), target.read_text(encoding="utf-8")) == (False, "flatc")
