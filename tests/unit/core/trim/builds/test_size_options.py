import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.build_spec import (
    MINIMUM_SIZE,
    BuildSpec,
    SourceOptions,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.chain.session import Session
from megtrim.core.config.load import load_config
from megtrim.core.config.model import TrimConfig
from megtrim.core.trim.builds import size_options
from megtrim.core.trim.builds.size_options import RELAXED, SizeFlag, SizeFlagChoice
from megtrim.libs.util.errors import InputError
from unit.core.trim.stages.support import CONFIG, changed, open_session
from unit.places.compile.projects.support import TOOLCHAIN, write

CLANG = replace(TOOLCHAIN, kind="clang-linux-arm64", version="clang version 14.0.6")


def ndk(api: int = 30) -> Toolchain:
    return replace(TOOLCHAIN, kind="ndk", version="NDK r22, clang version 11.0.5", api=api)


ORDER = BuildSpec(variant=Variant.REDUCED, targets=("load_and_run",), options=())
UNWIND = ("-fno-unwind-tables", "-fno-asynchronous-unwind-tables")
ZIG = replace(TOOLCHAIN, kind="zig", version="0.17.0")
GCC = replace(TOOLCHAIN, kind="host", version="g++ (Debian 12.2.0-14+deb12u1) 12.2.0")
OLD_GCC = replace(TOOLCHAIN, kind="host", version="g++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0")
NO_LEVEL = "only Android's API level shows what the loader supports"
OWN_LINKER = "and toolchain kind host links with the machine's own linker"
ALL_OF_CLANG = {
    "unwind_tables": "false",
    "small_code": "Oz",
    "lto": "full",
    "fold": "all",
    "virtual_functions": "false",
    "relocations": f"no: {NO_LEVEL}",
}
WITHOUT_LTO = {"lto": "none", "small_code": "Os"}


def ready(folder: Path, more: str, toolchain: Toolchain = CLANG) -> Session:
    made, _ = open_session(folder)
    path = folder / "megtrim.yaml"
    path.write_text(CONFIG + more, encoding="utf-8")
    engine = cast(Any, SimpleNamespace(kernels=("src/kernels",)))
    return changed(made, loaded=load_config(path), engine=engine, toolchain=toolchain)


def test_without_means_the_order_is_the_recipes(tmp_path: Path) -> None:
    made = ready(tmp_path, "trim: {optimize: none}\n")

    assert size_options.apply_flags(made, ORDER) is ORDER
    assert list(size_options.lines(made)) == []
    assert size_options.list_results(made) == ()
    assert size_options.relink_flags(made) == ()


def test_what_is_used_is_shown_and_why_the_rest_is_not(tmp_path: Path) -> None:
    made = ready(tmp_path, "trim: {optimize: size, means: {lto: none}}\n")

    assert list(size_options.lines(made)) == [
        "size       unwind_tables false, small_code Oz, fold all",
        "           without virtual_functions: it needs lto: full",
        "           without relocations: only Android's API level shows what the loader supports",
    ]
    assert [
        (each.name, each.value, bool(each.why_not)) for each in size_options.list_results(made)
    ] == [
        ("unwind_tables", "false", False),
        ("small_code", "Oz", False),
        ("fold", "all", False),
        ("virtual_functions", "false", True),
        ("relocations", "android", True),
    ]
    trim = TrimConfig.model_validate({"optimize": "size", "means": {"lto": "full"}})
    choices = size_options.choose(trim, GCC, off=MINIMUM_SIZE, alone=True)
    requested = {each.means: each.requested for each in choices}
    assert (requested[SizeFlag.LTO], requested[SizeFlag.FOLD]) == (True, False)
    # Calls from objects that the link does not see through are not counted.
    assert chosen(CLANG, alone=False, optimize="size")["virtual_functions"].startswith(
        "no: an application's own objects, or programs that load it, may call"
    )


def test_what_is_asked_for_and_impossible_is_refused(tmp_path: Path) -> None:
    gcc = replace(TOOLCHAIN, version="g++ (Debian) 12.2.0")
    asked = ready(tmp_path, "trim:\n  means:\n    small_code: Os\n    lto: full\n", gcc)

    with pytest.raises(InputError) as caught:
        size_options.expect_usable(asked)

    assert f"{tmp_path}/megtrim.yaml:8: trim.means.lto: found full, but it needs clang and lld" in (
        caught.value.message
    )
    off = ready(tmp_path, "trim: {means: {virtual_functions: false, lto: full}}\n", gcc)
    assert next(size_options.lines(off)) == "size       as the recipe makes it"
    size_options.expect_usable(ready(tmp_path, "trim: {optimize: size}\n", gcc))
    why_not = {
        each.means: each.why_not
        for each in size_options.choose(
            TrimConfig.model_validate({"level": "deferred", "optimize": "size"}),
            CLANG,
            off=MINIMUM_SIZE,
            alone=True,
        )
    }
    assert why_not[SizeFlag.LTO].startswith("level: deferred moves sections")
    assert why_not[SizeFlag.RELOCATIONS].startswith("level: deferred has a bit")


@pytest.mark.parametrize(
    ("kind", "machine", "problem"),
    [
        ("host", "x86_64", ""),
        ("recorded", "armv7l", ""),
        ("clang-linux-armhf", "arm", ""),
        ("ndk", "aarch64", ""),
        ("host", "riscv64", r":\d+: functions can be deferred on aarch64, armv7l and x86_64, not"),
        ("ndk", "arm", r":\d+: functions cannot be deferred for armeabi-v7a: only Linux is"),
    ],
)
def test_where_functions_can_be_deferred(
    kind: str, machine: str, problem: str, tmp_path: Path
) -> None:
    toolchain = replace(TOOLCHAIN, kind=kind, machine=machine, abi="armeabi-v7a")
    asked = ready(tmp_path, "trim:\n  level: deferred\n", toolchain)
    said = ""
    try:
        size_options.expect_usable(asked)
    except InputError as error:
        said = error.message
    assert re.search(problem, said) if problem else not said


def test_a_build_with_exceptions_keeps_its_tables(tmp_path: Path) -> None:
    (tmp_path / "all").mkdir()
    (tmp_path / "rtti").mkdir()
    made = ready(tmp_path / "all", "trim: {optimize: size}\n")
    trim = "trim: {optimize: size, minimum_size: false, switches: {rtti: false}}\n"
    throwing = size_options.apply_flags(ready(tmp_path / "rtti", trim), ORDER)

    assert size_options.apply_flags(made, ORDER).compile_flags[:2] == UNWIND
    assert not set(throwing.compile_flags) & set(UNWIND)
    assert throwing.own_link_flags == ()
    assert throwing.source_options is not None
    assert throwing.source_options.outside == ("src/kernels",)


def test_links_that_trim_functions_drop_the_tables_themselves(tmp_path: Path) -> None:
    """Nothing is compiled again for that; a team's own program may throw, and keeps them."""
    write(tmp_path, {"tool/CMakeLists.txt": "project(tool)"})
    tool = "applications: [{name: tool, source: tool}]\n"
    made = ready(tmp_path, "trim: {level: function, optimize: size}\n" + tool)

    spec = size_options.apply_flags(made, ORDER)

    assert not set(spec.compile_flags) & set(UNWIND)
    assert size_options.keeps_unwind_tables("load_and_run", made) is False
    assert size_options.keeps_unwind_tables("tool", made) is True
    recipe = ready(tmp_path, "trim: {level: function}\n")
    assert size_options.keeps_unwind_tables("load_and_run", recipe) is True


@pytest.mark.parametrize(
    "more",
    ["applications: [{name: tool, source: tool}]\n", "artifacts: [load_and_run, libengine.so]\n"],
)
def test_what_others_may_call_stays(tmp_path: Path, more: str) -> None:
    """A program of the team's, and whoever loads a shared object, call virtual functions too."""
    write(tmp_path, {"tool/CMakeLists.txt": "project(tool)"})
    alone = ready(tmp_path, "trim: {optimize: size}\n")
    flag = "-fvirtual-function-elimination"

    assert flag in size_options.apply_flags(alone, ORDER).compile_flags
    made = ready(tmp_path, "trim: {optimize: size}\n" + more)
    assert flag not in size_options.apply_flags(made, ORDER).compile_flags


def test_virtual_calls_stay_calls_where_functions_are_recorded(tmp_path: Path) -> None:
    """What lld works out of them in advance would not run, and be called by the last link."""
    level = "trim: {level: function, optimize: size"

    flags = size_options.unfolded_flags(ready(tmp_path, f"{level}}}\n"))
    assert flags == ("-Wl,-mllvm,-wholeprogramdevirt-skip=*",)
    kept = ready(tmp_path, f"{level}, means: {{virtual_functions: true}}}}\n")
    assert size_options.unfolded_flags(kept) == ()


@pytest.mark.parametrize(
    ("more", "inlines"),
    [
        ("trim: {level: function}\n", False),
        ("trim: {level: function, means: {lto: full}}\n", True),
        ("trim: {level: function, base: plain, optimize: size}\n", False),
        ("trim: {level: function}\napplications: [{name: tool, lto: full}]\n", True),
        ("trim: {level: function, base: plain}\napplications: [{name: tool, lto: full}]\n", True),
    ],
)
def test_whether_a_link_inlines_is_known(tmp_path: Path, more: str, inlines: bool) -> None:
    assert size_options.inlines_at_link(ready(tmp_path, more)) is inlines


def test_from_the_plain_build_only_links_can_be_smaller(tmp_path: Path) -> None:
    trim = "trim: {level: function, base: plain, optimize: size, means: {small_code: Oz}}\n"
    made = ready(tmp_path, trim, ndk())

    assert list(size_options.lines(made)) == [
        "size       fold all, relocations relr",
        "           without unwind_tables: exceptions are on and need them",
        "           without small_code: base: plain compiles nothing for it",
        "           without lto: base: plain compiles nothing for it",
        "           without virtual_functions: base: plain compiles nothing for it",
    ]
    assert size_options.relink_flags(made) == ("-Wl,--icf=all", "-Wl,--pack-dyn-relocs=relr")
    assert size_options.keeps_unwind_tables("load_and_run", made) is True
    size_options.expect_usable(made)


def chosen(
    toolchain: Toolchain, *, off: tuple[Switch, ...] = MINIMUM_SIZE, alone: bool = True, **trim: Any
) -> dict[str, str]:
    """Return each of the means with its value, or with ``no:`` and the reason."""
    made = size_options.choose(TrimConfig.model_validate(trim), toolchain, off=off, alone=alone)
    return {each.means: f"no: {each.why_not}" if each.why_not else each.value for each in made}


@pytest.mark.parametrize("toolchain", [CLANG, ZIG, GCC, ndk(30)])
def test_the_recipe_is_nothing_beyond(toolchain: Toolchain) -> None:
    said: dict[str, Any] = {"unwind_tables": True, "virtual_functions": True}
    said |= dict.fromkeys(("small_code", "lto", "fold"), "none")

    assert chosen(toolchain) == {}
    assert chosen(toolchain, means=said) == {}
    assert chosen(toolchain, optimize="size", means=said, relocations="none") == {}


@pytest.mark.parametrize(
    ("toolchain", "differs"),
    [
        (CLANG, {}),
        (
            ZIG,
            {
                "fold": "no: zig's driver passes no --icf to lld",
                "virtual_functions": (
                    "no: zig's C++ library was compiled without the tables that it needs"
                ),
            },
        ),
        (
            GCC,
            {
                "lto": f"no: it needs clang and lld, {OWN_LINKER}",
                "fold": f"no: it needs lld, {OWN_LINKER}",
                "virtual_functions": "no: it needs lto: full",
            },
        ),
    ],
    ids=["clang", "zig", "gcc"],
)
def test_size_takes_all_that_a_toolchain_does(
    toolchain: Toolchain, differs: dict[str, str]
) -> None:
    assert chosen(toolchain, optimize="size") == ALL_OF_CLANG | differs


@pytest.mark.parametrize(
    ("toolchain", "options", "means", "value"),
    [
        # A loader that is too old ends without a message.
        (ndk(30), {"optimize": "size"}, "relocations", "relr"),
        (ndk(29), {"optimize": "size"}, "relocations", "android"),
        (ndk(23), {"optimize": "size"}, "relocations", "android"),
        (
            ndk(22),
            {"optimize": "size"},
            "relocations",
            "no: it needs API level 23 or later, and toolchain.api is 22",
        ),
        # Packing that is said holds for every build: it is none of the reduced one's means.
        (ndk(30), {"optimize": "size", "relocations": "android"}, "relocations", None),
        (ndk(30), {"optimize": "size", "relocations": "none"}, "relocations", None),
        # g++ knows -Oz from 12 on; asked for by name it is refused.
        (OLD_GCC, {"optimize": "size"}, "small_code", "Os"),
        (
            OLD_GCC,
            {"means": {"small_code": "Oz"}},
            "small_code",
            f"no: it needs g++ 12 or later, and this is {OLD_GCC.version}",
        ),
        (
            CLANG,
            {"off": (Switch.RTTI, Switch.LOGGING), "optimize": "size"},
            "unwind_tables",
            "no: exceptions are on and need them",
        ),
        (CLANG, {"off": (Switch.EXCEPTIONS,), "optimize": "size"}, "unwind_tables", "false"),
        # One that is said wins over size; without it there is none of virtual functions either.
        (CLANG, {"optimize": "size", "means": WITHOUT_LTO}, "small_code", "Os"),
        (CLANG, {"optimize": "size", "means": WITHOUT_LTO}, "lto", None),
        (
            CLANG,
            {"optimize": "size", "means": WITHOUT_LTO},
            "virtual_functions",
            "no: it needs lto: full",
        ),
    ],
)
def test_what_one_of_the_means_becomes(
    toolchain: Toolchain, options: dict[str, Any], means: str, value: str | None
) -> None:
    assert chosen(toolchain, **options).get(means) == value


def test_the_flags_of_all() -> None:
    trim = TrimConfig.model_validate({"optimize": "size"})
    spec = replace(ORDER, compile_flags=("-DX",), link_flags=("-Wl,--icf=all",))
    refused = SizeFlagChoice(means=SizeFlag.LTO, value="full", requested=False, why_not="no lld")

    def apply(choices: tuple[SizeFlagChoice, ...], toolchain: Toolchain) -> BuildSpec:
        return size_options.apply_choices(spec, choices, toolchain, kernels=("src/kernels",))

    wanted = size_options.choose(trim, ndk(), off=MINIMUM_SIZE, alone=True)
    made = apply(wanted, ndk())

    assert made.compile_flags == (
        "-DX",
        "-fno-unwind-tables",
        "-fno-asynchronous-unwind-tables",
        "-flto=full",
        "-fvisibility=hidden",
        "-fwhole-program-vtables",
        "-fvirtual-function-elimination",
    )
    assert made.link_flags == (
        "-Wl,--icf=all",
        "-fuse-ld=lld",
        "-flto=full",
        "-Wl,--pack-dyn-relocs=relr",
    )
    assert "-fuse-ld=lld" not in apply(wanted, CLANG).link_flags
    assert made.own_link_flags == ("-Wl,--no-eh-frame-hdr",)
    assert made.source_options == SourceOptions(
        options=("-Oz",), fast=RELAXED, outside=("src/kernels",)
    )
    # No means leave the order as it is.
    assert apply((), CLANG) == apply((refused,), ndk()) == spec
