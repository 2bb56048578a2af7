from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.build_spec import Variant
from megtrim.core.keep.keepset import GENERATIONS as HEADERS
from megtrim.engines.megengine.engine import MegEngine
from megtrim.engines.megengine.generations import (
    GENERATIONS,
    LITE,
    LITE_TRACED,
    QUIRKS,
    SDK,
    Generation,
    Quirk,
    find_checkouts,
    is_checkout,
    quirk_options,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from unit.places.compile.projects.support import (
    BETWEEN,
    BUILT,
    NEWEST,
    OLDEST,
    TOOLCHAIN,
    make_spec,
    write,
)

TREES = [(OLDEST, SDK), (BETWEEN, LITE), (NEWEST, LITE_TRACED)]


def without(files: Mapping[str, str], *names: str) -> dict[str, str]:
    return {name: text for name, text in files.items() if not name.startswith(names)}


def test_rows_hold_together() -> None:
    assert len({each.name for each in GENERATIONS}) == len(GENERATIONS)
    assert all(each.number in HEADERS for each in GENERATIONS)
    assert all(each.program.endswith("/") for each in GENERATIONS)
    assert all(folder.endswith("/") for each in GENERATIONS for folder in each.sources)
    names = [quirk.name for quirk in QUIRKS]
    given = [name for quirk in QUIRKS for name, _ in quirk.options]
    assert (len(names), len(given)) == (len({*names}), len({*given}))
    assert all(quirk.wrong and quirk.seen and quirk.options for quirk in QUIRKS)
    known = {generation.name for generation in GENERATIONS}
    assert all(set(quirk.generations) <= known for quirk in QUIRKS)


@pytest.mark.parametrize(("files", "generation"), TREES)
def test_distinguished_from_the_tree(
    processes: ProcessRunner, tmp_path: Path, files: Mapping[str, str], generation: Generation
) -> None:
    engine = MegEngine(write(tmp_path, {**files, "version.txt": "9.9"}), processes)

    assert engine.generation is generation
    assert engine.identity().generation == generation.number


def test_the_modes_tag_decides_between_the_newer_two(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    files = {**NEWEST, "dnn/src/common/elemwise/opr_impl.cpp": "MIDOUT_DECL(other)\n"}

    assert MegEngine(write(tmp_path, files), processes).identity().generation == 20190219


CHECKOUT_HINT = "engine.source must name a checkout of MegEngine 1.0 or newer"
LIST = "CMakeLists.txt"


@pytest.mark.parametrize(
    ("files", "message", "hint"),
    [
        (
            without(NEWEST, "lite/", "src/"),
            (
                "{root} is not a MegEngine of a generation that megtrim knows: "
                "for 1.0 to 1.6 it has no sdk/load-and-run/CMakeLists.txt; "
                "for 1.7 to 1.9 or 1.10 and newer it has no lite/load_and_run/CMakeLists.txt "
                "and src/bin_reduce_cmake.h"
            ),
            CHECKOUT_HINT,
        ),
        *(
            (
                without(NEWEST, lost),
                (
                    "{root} is not a MegEngine of a generation that megtrim knows: "
                    "for 1.0 to 1.6 it has no sdk/load-and-run/CMakeLists.txt; "
                    f"for 1.7 to 1.9 or 1.10 and newer it has no {lost}"
                ),
                CHECKOUT_HINT,
            )
            for lost in ("src/bin_reduce_cmake.h", "lite/load_and_run/CMakeLists.txt")
        ),
        (
            {**OLDEST, **NEWEST},
            (
                "{root} looks like two generations of MegEngine at once: it has "
                "lite/load_and_run/CMakeLists.txt and sdk/load-and-run/CMakeLists.txt"
            ),
            "is it one release's checkout? `git status` there shows more",
        ),
        # 0.6 has the older one's folder, and none of the switches: refused before a build.
        *(
            (
                {**OLDEST, LIST: OLDEST[LIST].replace(option, "MGE_OTHER")},
                f"{{root}} has no CMake option {option}, which megtrim needs",
                "",
            )
            for option in ("MGE_WITH_MIDOUT_PROFILE", "MGE_BIN_REDUCE")
        ),
        *(
            (
                without(files, "third_party/midout", f"third_party/{other}"),
                f"{{root}} has no files of its submodules midout, {other}",
                f"git -C {{root}} submodule update --init third_party/midout third_party/{other}",
            )
            for files, other in ((OLDEST, "cpuinfo"), (NEWEST, "gflags"))
        ),
    ],
)
def test_another_tree_is_refused(
    processes: ProcessRunner, tmp_path: Path, files: dict[str, str], message: str, hint: str
) -> None:
    with pytest.raises(InputError) as caught:
        MegEngine(write(tmp_path, files), processes)

    assert caught.value.message == message.format(root=tmp_path)
    assert not hint or caught.value.hint == hint.format(root=tmp_path)


def test_a_submodule_that_the_release_does_not_have_is_not_asked_for(
    processes: ProcessRunner, tmp_path: Path
) -> None:
    listed = ["midout", "flatbuffers", "Json", "gflags", "cpuinfo", "gtest"]
    text = "".join(f'[submodule "{n}"]\n\tpath = third_party/{n}\n' for n in listed)
    files = without(BETWEEN, "third_party/cpp_redis", "third_party/tacopie")

    assert MegEngine(write(tmp_path, {**files, ".gitmodules": text}), processes).generation is LITE


@pytest.mark.parametrize(
    ("files", "header", "option"),
    [(OLDEST, "megtrim/bin_reduce.h", "MGE_BIN_REDUCE"), (NEWEST, "src/bin_reduce_cmake.h", "")],
)
def test_how_the_header_enters(
    processes: ProcessRunner, tmp_path: Path, files: Mapping[str, str], header: str, option: str
) -> None:
    engine = MegEngine(write(tmp_path, files), processes)
    reduced = make_spec(engine, Variant.REDUCED)

    assert reduced.overrides == ((header, "forced\n"),)
    assert reduced.forced_header == header
    assert reduced.include == (("midout.h", "regions\n"),)
    reported = ((option, f"/tree/src/{header}"),) if option else ()
    assert reduced.header_entry(Path("/tree/src")) == reported
    assert make_spec(engine, Variant.PLAIN).header_entry(Path("/tree/src")) == ()
    assert header not in files or not option


def test_a_path_with_blanks_cannot_be_shown(processes: ProcessRunner, tmp_path: Path) -> None:
    reduced = make_spec(MegEngine(write(tmp_path, OLDEST), processes), Variant.REDUCED)

    with pytest.raises(InputError) as caught:
        reduced.header_entry(Path("/my results/src"))
    assert caught.value.message == (
        "the header's path '/my results/src/megtrim/bin_reduce.h' contains blanks, "
        "where this engine splits it"
    )


@pytest.mark.parametrize(
    ("files", "profile"), [(OLDEST, "RelWithDebInfo"), (BETWEEN, "Release"), (NEWEST, "Release")]
)
def test_build_types(
    processes: ProcessRunner, tmp_path: Path, files: Mapping[str, str], profile: str
) -> None:
    """A profile build needs type information, which the older one has in no Release for Arm."""
    engine = MegEngine(write(tmp_path, files), processes)
    types = [dict(make_spec(engine, variant).options)["CMAKE_BUILD_TYPE"] for variant in BUILT]

    assert types == ["Release", profile, "Release"]


@pytest.mark.parametrize(
    ("version", "tolerant"),
    [
        ("Debian clang version 22.1.8 (1~deb12u1)", True),
        ("Debian clang version 19.1.7", True),
        ("Debian clang version 14.0.6", False),
        ("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", False),
    ],
)
def test_newer_clangs_are_told_what_to_accept(
    processes: ProcessRunner, tmp_path: Path, version: str, tolerant: bool
) -> None:
    """The tree makes errors of their warnings."""
    engine = MegEngine(write(tmp_path, NEWEST), processes)
    spec = engine.make_spec(
        Variant.PLAIN,
        replace(TOOLCHAIN, version=version),
        targets=("load_and_run",),
        minimum_size=True,
        header={},
    )
    (flatc,) = spec.host_programs

    assert ("-Wno-error=deprecated-declarations" in spec.compile_flags) == tolerant
    assert ("CMAKE_CXX_FLAGS" in dict(flatc.options)) == tolerant


def test_sources_of_the_older_generation(processes: ProcessRunner, tmp_path: Path) -> None:
    engine = MegEngine(write(tmp_path, OLDEST), processes)

    assert dict(engine.texts()) == {
        "sdk/load-and-run/src/mgblar.cpp": "MIDOUT_BEGIN\n",
        "dnn/src/kernel.cpp": "K\n",
    }


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "a" / "b" / "c" / "project"
    folder.mkdir(parents=True)
    return folder


def test_a_checkout_is_known_by_its_files(tmp_path: Path) -> None:
    assert is_checkout(write(tmp_path / "x", OLDEST))
    assert is_checkout(write(tmp_path / "y", NEWEST))
    assert not is_checkout(tmp_path)


@pytest.mark.parametrize(
    ("places", "found"),
    [
        (["MegEngine"], 1),
        (["third_party/MegEngine"], 1),
        (["../engine"], 1),
        (["../../deps/engine"], 1),
        (["..", "MegEngine"], 1),  # The one around the folder comes first.
        (["../one", "../two"], 2),
        (["MegEngine", "../one", "../two"], 1),
        ([], 0),
    ],
)
def test_the_nearest_checkouts_are_found(project: Path, places: list[str], found: int) -> None:
    (project / "MegEngine").mkdir()
    roots = [write((project / place).resolve(), NEWEST) for place in places]

    assert find_checkouts(project) == tuple(roots[:found])


@pytest.mark.parametrize(
    ("toolchains", "generations", "variants", "applies"),
    [
        ((), (), (), True),
        (("zig", "host"), (), (), True),
        (("zig",), (), (), False),
        ((), (), (Variant.REDUCED,), True),
        ((), (), (Variant.PLAIN, Variant.PROFILE), False),
        (("host",), ("lite", "sdk"), (Variant.REDUCED,), True),
        (("host",), (), (Variant.PLAIN,), False),
        (("zig",), (), (Variant.REDUCED,), False),
        ((), ("sdk",), (), True),
        ((), ("lite",), (), False),
    ],
)
def test_where_a_quirk_applies(
    toolchains: tuple[str, ...],
    generations: tuple[str, ...],
    variants: tuple[Variant, ...],
    applies: bool,
) -> None:
    quirk = Quirk(
        name="x",
        toolchains=toolchains,
        generations=generations,
        variants=variants,
        wrong="w",
        seen="s",
        options=(),
    )

    assert quirk.applies("host", Variant.REDUCED, "sdk") == applies


def test_options_come_in_the_order_of_the_table() -> None:
    table = (
        Quirk(name="a", wrong="", seen="", options=(("A", "1"), ("B", "2"))),
        Quirk(name="b", toolchains=("zig",), wrong="", seen="", options=(("C", "3"),)),
        Quirk(name="c", wrong="", seen="", options=(("D", "4"),)),
    )

    assert quirk_options(table, "host", Variant.PLAIN, "sdk") == (
        ("A", "1"),
        ("B", "2"),
        ("D", "4"),
    )
    assert quirk_options((), "host", Variant.PLAIN, "sdk") == ()


@pytest.mark.parametrize("variant", Variant)
def test_what_every_build_of_the_engine_is_shown(variant: Variant) -> None:
    common = (("MGE_WITH_JIT", "OFF"), ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"))
    linker = (("CXX_SUPPORT_GOLD", "OFF"), ("LINKER_SUPPORT_Z_NOCOPYRELOC_ICF_SAFE_NO_LLD", "OFF"))

    for generation in ("sdk", "lite", "lite-traced"):
        assert quirk_options(QUIRKS, "zig", variant, generation) == common
    for generation in ("lite", "lite-traced"):
        reported = quirk_options(QUIRKS, "clang-linux-arm64", variant, generation)
        assert reported == (*linker, *common)
    assert quirk_options(QUIRKS, "clang-linux-arm64", variant, "sdk") == (linker[0], *common)
