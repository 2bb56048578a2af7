"""Links of a small program once more, by real compilers and linkers, without what never ran."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from integration.links import ARM_CODE, KINDS, TRAPPED, Lease, lease, places
from megtrim.core.build_spec import (
    BuildScript,
    BuildSpec,
    EngineLibrary,
    Linkage,
    LinkSpec,
    StubForm,
    Variant,
)
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.core.functions import linker_script, qemu_log
from megtrim.libs.elf.pages import find_misfit
from megtrim.libs.elf.symbol_table import read_table
from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.libs.util.process import CompletedCommand, ProcessRunner
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.application import ApplicationSpec
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from support.standin_ndk import make_standin_ndk
from unit.places.compile.projects.support import snapshot, write

PARTS = {
    "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.20)
project(parts C CXX)
add_compile_options(-O2 -fPIC -ffunction-sections -fdata-sections ${EXTRA_COMPILE})
add_link_options(-Wl,--gc-sections ${EXTRA_LINK})
add_library(parts STATIC part.cpp other.cpp count.cpp)
add_executable(program main.cpp)
target_link_libraries(program parts)
add_library(whole SHARED shared.cpp)
target_link_libraries(whole parts)
""",
    "main.cpp": """
#include <cstdio>
int part(int); int other(int); int& count();
int main(int argc, char**) {
  std::printf("%d of %d\\n", part(argc), count());
  return argc > 5 ? other(argc) : 0;
}
""",
    "part.cpp": "int part(int value) { return value + 41; }\n",
    "other.cpp": """
int& count();
static const int registered = ++count();
int other_uses(int value) { volatile int kept = value; return kept * 3; }
int other(int value) { return other_uses(value) + registered; }
""",
    "count.cpp": "int& count() { static int parts = 0; return parts; }\n",
    "shared.cpp": """
int other(int);
extern "C" __attribute__((visibility("default"))) int whole(int value) { return other(value); }
""",
}
SAID = "42 of 1\n"
MORE = ("1", "2", "3", "4", "5")
"""Arguments with which it calls what never runs otherwise."""

OTHER = 'HIDDEN("_Z5otheri" = megtrim_stub);\nHIDDEN("in_no_table" = megtrim_stub);\n'


def of_parts(kind: str, root: Path, *targets: str, **options: str) -> Lease:
    return lease(kind, root, write(root / "sources", PARTS), *(targets or ("program",)), **options)


@pytest.fixture(scope="module", params=(*KINDS, ARM_CODE))
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Lease:
    """A tree of each toolchain; what is linked from it never changes it."""
    return of_parts(request.param, tmp_path_factory.mktemp(request.param))


SHIPPED = LinkSpec(target="program", label="shipped", sources=linker_script.SOURCES, script=OTHER)
UNFOLDED = LinkSpec(target="program", label="unfolded", unfolded=True)


def test_a_function_gives_its_place_to_the_stub(made: Lease) -> None:
    links = made.link(SHIPPED)
    program = links / "shipped/program"
    stripped = links / "shipped/stripped/program"
    at = places(read_table(program))

    assert at["_Z5otheri"] == at["megtrim_stub"]
    assert "_Z10other_usesi" not in at
    assert "_Z4parti" in at
    for each in (program, stripped):
        assert made.run(each).stdout == SAID
        assert made.run(each, *MORE).rc == TRAPPED[made.toolchain.machine]
    assert stripped.stat().st_size < program.stat().st_size


def test_the_same_link_makes_the_same_bytes(made: Lease, tmp_path: Path) -> None:
    made.link()
    before = snapshot(made.build)
    links = made.link(LinkSpec(target="program", label="again", map=True))
    own = tmp_path / "own"
    own.write_bytes((made.build / "program").read_bytes())
    if made.toolchain.strip:
        made.processes.capture(*made.toolchain.strip, str(own))

    assert (links / "again/stripped/program").read_bytes() == own.read_bytes()
    assert {"_Z5otheri", "main"} <= places(read_table(links / "again/program")).keys()
    assert "other.cpp" in (links / "again/program.map").read_text(encoding="utf-8")
    assert snapshot(made.build) == before


@pytest.mark.clang
def test_a_link_unfolds_what_the_target_folds(tmp_path: Path) -> None:
    twins = (
        "int first(int value) { return value * 7; }\nint second(int value) { return value * 7; }"
    )
    main = "int first(int); int second(int);\nint main(int c, char**) { return first(second(c)); }"
    parts = PARTS | {"part.cpp": twins, "main.cpp": main}
    sources = write(tmp_path / "sources", parts)
    made = lease("clang-linux-arm64", tmp_path, sources, "program", EXTRA_LINK="-Wl,--icf=all")
    links = made.link(LinkSpec(target="program", label="folded"), UNFOLDED)
    folded = places(read_table(links / "folded/program"))
    unfolded = places(read_table(links / "unfolded/program"))

    assert folded["_Z5firsti"] == folded["_Z6secondi"]
    assert unfolded["_Z5firsti"] != unfolded["_Z6secondi"]


def ran(made: Lease, program: Path) -> tuple[str, ...]:
    assert made.run(program, **qemu_log.ENVIRONMENT).stdout == SAID
    log = made.root / qemu_log.LOG_FILE
    data = log.read_bytes()
    log.unlink()
    return qemu_log.ran_in_log(data, read_table(program), source=str(log))


JUMPS = PARTS | {
    "other.cpp": """
int& count();
static const int registered = ++count();
int other(int value) { volatile int kept = value; return kept + 40 + registered; }
""",
    "part.cpp": "int other(int);\nint part(int value) { return other(value); }\n",
}
"""A function that is nothing but a jump to another."""


@pytest.mark.chain
def test_a_function_that_only_jumps_is_seen_to_run(tmp_path: Path) -> None:
    made = lease("zig", tmp_path, write(tmp_path / "sources", JUMPS), "program")
    links = made.link(UNFOLDED, LinkSpec(target="program", label="own", flags=("-Wl,-O2",)))

    assert {"_Z4parti", "_Z5otheri"} <= set(ran(made, links / "unfolded/program"))
    assert "_Z4parti" not in ran(made, links / "own/program")


INLINED = PARTS | {
    "main.cpp": """
#include <cstdio>
int part(int); int other(int (*)(int)); int& count();
int main(int argc, char**) {
  std::printf("%d of %d\\n", part(argc), count());
  return argc > 5 ? other(part) : 0;
}
""",
    "other.cpp": """
int& count();
static const int registered = ++count();
int other(int (*call)(int)) { int (*volatile kept)(int) = call; return kept(registered); }
""",
}
"""What runs inside of ``main`` once it is inlined is a function as well, which other calls use."""


@pytest.fixture(scope="module")
def optimised(tmp_path_factory: pytest.TempPathFactory) -> Lease:
    root = tmp_path_factory.mktemp("optimised")
    lto = {"EXTRA_COMPILE": "-flto=full", "EXTRA_LINK": "-flto=full"}
    sources = write(root / "sources", INLINED)
    return lease("clang-linux-arm64", root, sources, "program", **lto)


def shipped_by_list(made: Lease, *, unfolded: bool) -> tuple[tuple[str, ...], CompletedCommand]:
    """Take a list from a link of either kind; return what it drops, and a run without that."""
    name = f"unfolded-{unfolded}"
    listed = LinkSpec(target="program", label="listed", unfolded=unfolded)
    program = made.link(listed, name=name) / "listed/program"
    table = read_table(program)
    done = ran(made, program)
    ours = [each for each in ("_Z4parti", "_Z5otherPFiiE", "_Z5countv") if each not in done]
    dropped = tuple(each for each in ours if each in places(table))
    spec = replace(SHIPPED, script=linker_script.script([each] for each in dropped))
    return dropped, made.run(made.link(spec, name=name) / "shipped/stripped/program")


@pytest.mark.clang
@pytest.mark.parametrize("unfolded", [True, False])
def test_a_list_is_from_before_inlining(optimised: Lease, unfolded: bool) -> None:
    """After it, a list is without the inlined function that ran; its own copy traps."""
    dropped, outcome = shipped_by_list(optimised, unfolded=unfolded)

    if unfolded:
        assert (dropped, outcome.rc, outcome.stdout) == (("_Z5otherPFiiE",), 0, SAID)
    else:
        assert "_Z4parti" in dropped
        assert outcome.rc == TRAPPED["aarch64"]


@pytest.mark.chain
def test_gcc_cannot_be_kept_from_inlining(tmp_path: Path) -> None:
    """So a list is refused where it compiles at the link."""
    made = of_parts("host", tmp_path, EXTRA_COMPILE="-flto", EXTRA_LINK="-flto")

    with pytest.raises(InputError, match=r"program: GNU ld compiles .*main\.cpp\.o while it links"):
        made.link(UNFOLDED)


def test_the_linkers_own_words_tell_what_is_wrong(made: Lease) -> None:
    """A name that is nowhere is the program's fault; nothing is left that looks like a link."""
    calls = ("calls.c", "void missing(void);\nvoid megtrim_stub(void) { missing(); }\n")
    spec = LinkSpec(target="program", label="wrong", sources=(calls,), script=OTHER)

    with pytest.raises(ProductFailure, match=r"undefined \w+:? (?:to )?`?missing"):
        made.link(spec)
    assert not (made.root / "folder/links/wrong/program").exists()


def test_an_option_unknown_to_the_linker_is_reported_as_such(made: Lease) -> None:
    with pytest.raises(InputError, match="no-such-thing") as caught:
        made.link(LinkSpec(target="program", label="odd", flags=("-Wl,--no-such-thing",)))
    assert caught.value.hint == "choose a toolchain with lld, or trim.level: region"


@pytest.mark.chain
def test_nothing_is_asked_of_a_tree_that_is_built(tmp_path: Path) -> None:
    """But for Ninja: a source that changed is compiled, and a build that was cut off is made."""
    made = of_parts("host", tmp_path)
    made.link(SHIPPED, name="first")
    made.link(SHIPPED, name="second")
    text = PARTS["part.cpp"].replace("41", "42")
    write(made.sources, {"part.cpp": text})
    third = made.link(SHIPPED, name="third")
    (made.build / "CMakeFiles/program.dir/main.cpp.o").unlink()
    made.link(SHIPPED, name="fourth")
    logs = [
        (tmp_path / name / "build.log").read_text(encoding="utf-8")
        for name in ("first", "second", "third", "fourth")
    ]

    assert ["-S " in log for log in logs] == [True, False, True, True]
    assert ["part.cpp.o" in log for log in logs] == [True, False, True, False]
    assert made.run(third / "shipped/program").stdout == SAID.replace("42", "43")


@pytest.mark.chain
def test_a_shared_object_is_linked_again_and_a_response_file_read(tmp_path: Path) -> None:
    forced = {"CMAKE_NINJA_FORCE_RESPONSE_FILE": "ON"}
    made = of_parts("host", tmp_path, "libwhole.so", "program", **forced)
    links = made.link(SHIPPED, replace(SHIPPED, target="libwhole.so", label="shared"))
    table = read_table(links / "shared/libwhole.so")

    assert not list(made.build.rglob("*.rsp"))
    assert made.run(links / "shipped/program").stdout == SAID
    assert places(table)["_Z5otheri"] == places(table)["megtrim_stub"]
    assert "whole" in table.exported
    assert "in_no_table" not in table.exported


@pytest.mark.chain
@pytest.mark.parametrize("numbered", [False, True])
def test_a_library_that_exports_everything_loses_its_local_functions(
    tmp_path: Path, numbered: bool
) -> None:
    """They are emptied in place, so GNU ld drops the stubs: nothing refers to one."""
    local = (
        'extern "C" { __attribute__((noinline)) static int own(int value) {'
        " volatile int kept = value; return kept * 3; }\n"
        "int whole(int value) { return value > 100 ? own(value) : value; } }\n"
    )
    sources = write(tmp_path / "sources", PARTS | {"shared.cpp": local})
    made = lease("host", tmp_path, sources, "libwhole.so")
    script = linker_script.named_script if numbered else linker_script.script
    before = LinkSpec(target="libwhole.so", label="unfolded", unfolded=True)
    after = LinkSpec(
        target="libwhole.so",
        label="shipped",
        sources=linker_script.numbered_sources(1) if numbered else linker_script.SOURCES,
        script=script(["own"]),
        emptied=("own",),
        form=StubForm.NUMBERED if numbered else StubForm.SHARED,
    )
    links = made.link(before, after)
    table = read_table(links / "shipped/libwhole.so")

    assert not any(linker_script.is_stub(each.name) for each in table.functions)
    linker_script.prove(
        read_table(links / "unfolded/libwhole.so"),
        table,
        kept=["whole"],
        dropped=["own"],
        source="libwhole.so",
        numbered=numbered,
    )


@pytest.mark.chain
def test_an_application_is_linked_in_its_own_tree(tmp_path: Path) -> None:
    made = of_parts("host", tmp_path, "libparts.a", "program")
    own = write(
        tmp_path / "application",
        {
            "CMakeLists.txt": """
cmake_minimum_required(VERSION 3.20)
project(own CXX)
add_link_options(-Wl,--gc-sections)
add_executable(own ${MEGTRIM_ENGINE_SOURCE}/main.cpp)
target_link_libraries(own ${MEGTRIM_ENGINE_LIBRARIES})
"""
        },
    )
    application = ApplicationSpec(
        name="own",
        checkout=checkout.take(own, made.processes),
        library=EngineLibrary(linkage=Linkage.STATIC, file="libparts.a", include=()),
        lto=False,
    )
    spec = replace(SHIPPED, target="own", strip=False)
    links = made.link(spec, applications=(application,))
    at = places(read_table(links / "shipped/own"))

    assert at["_Z5otheri"] == at["megtrim_stub"]
    assert made.run(links / "shipped/own").stdout == SAID
    assert not (links / "shipped/stripped").exists()


SCRIPT = """
folder=$(dirname "$0")
eval "cmake -G Ninja -S $folder -B $folder/inside $EXTRA_CMAKE_ARGS"
ninja -C "$folder/inside" program
"""
"""Builds as an engine's own script does, in a folder of the tree."""


@pytest.mark.clang
def test_a_target_of_a_build_script_is_linked_again(tmp_path: Path) -> None:
    ndk = make_standin_ndk(tmp_path / "ndk")
    processes = ProcessRunner({**os.environ, "ANDROID_NDK_ROOT": str(ndk), "CCACHE_DISABLE": "1"})
    toolchain = toolchain_kinds.KINDS["ndk"](ToolchainConfig(kind="ndk"), processes)
    sources = write(tmp_path / "sources", PARTS | {"build.sh": SCRIPT})
    spec = BuildSpec(
        variant=Variant.PLAIN,
        targets=("program",),
        options=(("CMAKE_BUILD_TYPE", "Release"),),
        script=BuildScript(
            path="build.sh",
            arguments=(),
            build="inside",
            why="it is there",
            entries_variable="EXTRA_CMAKE_ARGS",
        ),
    )
    made = Lease(toolchain, processes, tmp_path, sources, spec)
    links = made.link(SHIPPED, name="first")
    made.link(SHIPPED, name="second")
    logs = [(tmp_path / name / "build.log").read_text() for name in ("first", "second")]

    assert (tmp_path / "work/src/inside/program").is_file()
    program = links / "shipped/stripped/program"
    assert made.run(program).stdout == SAID
    assert made.run(program, *MORE).rc == TRAPPED["aarch64"]
    assert find_misfit(program.read_bytes(), toolchain.page_bytes, source="program") == ""
    assert ["build.sh" in log for log in logs] == [True, False]
