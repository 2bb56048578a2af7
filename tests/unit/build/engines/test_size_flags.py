from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from megtrim.build.engines import size_flags
from megtrim.build.engines.size_flags import RELAXED, SizeFlag, SizeFlagChoice
from megtrim.build_spec import MINIMUM_SIZE, BuildSpec, SourceOptions, Switch, Toolchain, Variant
from megtrim.config.model import TrimConfig
from unit.build.engines.support import TOOLCHAIN

CLANG = replace(TOOLCHAIN, kind="clang-linux-arm64", version="Debian clang version 14.0.6")
ZIG = replace(TOOLCHAIN, kind="zig", version="0.17.0")
GCC = replace(TOOLCHAIN, kind="host", version="g++ (Debian 12.2.0-14+deb12u1) 12.2.0")
OLD_GCC = replace(TOOLCHAIN, kind="host", version="g++ (Ubuntu 9.4.0-1ubuntu1~20.04.2) 9.4.0")

NO_LEVEL = "only Android's API level shows what the loader supports"


def ndk(api: int) -> Toolchain:
    return replace(TOOLCHAIN, kind="ndk", version="NDK r22, clang version 11.0.5", api=api)


def chosen(
    toolchain: Toolchain,
    *,
    off: tuple[Switch, ...] = MINIMUM_SIZE,
    alone: bool = True,
    **trim: Any,
) -> dict[str, str]:
    """Return each of the means with its value, or with ``no:`` and the reason."""
    made = size_flags.choices(TrimConfig.model_validate(trim), toolchain, off=off, alone=alone)
    return {each.means: f"no: {each.why_not}" if each.why_not else each.value for each in made}


def make_spec() -> BuildSpec:
    return BuildSpec(
        variant=Variant.REDUCED,
        targets=("load_and_run",),
        options=(),
        compile_flags=("-DX",),
        link_flags=("-Wl,--icf=all",),
    )


@pytest.mark.parametrize("toolchain", [CLANG, ZIG, GCC, ndk(30)])
def test_the_recipe_is_nothing_beyond(toolchain: Toolchain) -> None:
    said: dict[str, Any] = {"unwind_tables": True, "virtual_functions": True}
    said |= dict.fromkeys(("small_code", "lto", "fold"), "none")

    assert chosen(toolchain) == {}
    assert chosen(toolchain, means=said) == {}
    assert chosen(toolchain, optimize="size", means=said, relocations="none") == {}


OWN_LINKER = "and toolchain kind host links with the machine's own linker"
ALL_OF_CLANG = {
    "unwind_tables": "false",
    "small_code": "Oz",
    "lto": "full",
    "fold": "all",
    "virtual_functions": "false",
    "relocations": f"no: {NO_LEVEL}",
}


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


WITHOUT_LTO = {"lto": "none", "small_code": "Os"}


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


def test_who_else_calls_the_engine_keeps_its_virtual_functions() -> None:
    """Calls from objects that the link does not see through are not counted."""
    reported = chosen(CLANG, alone=False, optimize="size")["virtual_functions"]

    assert reported.startswith(
        "no: an application's own objects, or programs that load it, may call"
    )


def test_who_asked_is_known() -> None:
    trim = TrimConfig.model_validate({"optimize": "size", "means": {"lto": "full"}})

    requested = {
        each.means: each.requested
        for each in size_flags.choices(trim, GCC, off=MINIMUM_SIZE, alone=True)
    }

    assert requested[SizeFlag.LTO] is True
    assert requested[SizeFlag.FOLD] is False


def test_the_flags_of_all() -> None:
    trim = TrimConfig.model_validate({"optimize": "size"})

    wanted = size_flags.choices(trim, ndk(30), off=MINIMUM_SIZE, alone=True)
    made = size_flags.apply_choices(make_spec(), wanted, ndk(30), kernels=("src/kernels",))

    assert made.compile_flags == (
        *("-DX", "-fno-unwind-tables", "-fno-asynchronous-unwind-tables", "-flto=full"),
        *("-fvisibility=hidden", "-fwhole-program-vtables", "-fvirtual-function-elimination"),
    )
    assert made.link_flags == (
        *("-Wl,--icf=all", "-fuse-ld=lld", "-flto=full", "-Wl,--pack-dyn-relocs=relr"),
    )
    linux = size_flags.apply_choices(make_spec(), wanted, CLANG, kernels=())
    assert "-fuse-ld=lld" not in linux.link_flags
    assert made.own_link_flags == ("-Wl,--no-eh-frame-hdr",)
    assert made.source_options == SourceOptions(
        options=("-Oz",), fast=RELAXED, outside=("src/kernels",)
    )


def test_no_means_leave_the_order_as_it_is() -> None:
    refused = SizeFlagChoice(means=SizeFlag.LTO, value="full", requested=False, why_not="no lld")

    assert size_flags.apply_choices(make_spec(), (), CLANG, kernels=("src/kernels",)) == make_spec()
    assert (
        size_flags.apply_choices(make_spec(), (refused,), ndk(30), kernels=("src/kernels",))
        == make_spec()
    )


@pytest.mark.parametrize(
    ("trim", "toolchain", "flags"),
    [
        ({"means": {"fold": "all"}}, CLANG, ("-Wl,--icf=all",)),
        ({"optimize": "size"}, ndk(23), ("-Wl,--icf=all", "-Wl,--pack-dyn-relocs=android")),
    ],
)
def test_what_a_link_alone_can_do(
    trim: dict[str, Any], toolchain: Toolchain, flags: tuple[str, ...]
) -> None:
    """Objects of a build that was made before are linked smaller, not compiled."""
    wanted = TrimConfig.model_validate(trim)
    made = size_flags.choices(wanted, toolchain, off=MINIMUM_SIZE, alone=True)

    assert size_flags.of_links(made) == flags
