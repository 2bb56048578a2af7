"""MegEngine's generations and quirks, as data: how to recognise them, and what builds need.

A generation is recognised by files of the tree: forks keep the files and change the version.
"""

from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import Variant
from megtrim.engines.load_and_run import dialects
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value

MODES_FILE = "dnn/src/common/elemwise/opr_impl.cpp"
MODES_TAG = "megdnn_common_elemwise_mode"
"""A trace records the elementwise modes that ran with this tag."""

_LEVELS = 3
_VENDORED = ("third_party", "3rdparty", "external", "deps")


class Generation(Value):
    name: str
    releases: str
    number: int
    """Version of the header, as the tree's own generator writes it."""
    signs: tuple[str, ...]
    """Files that together only a tree of this generation has."""
    traces_modes: bool
    """Whether :data:`MODES_FILE` declares :data:`MODES_TAG`; if not, models list the modes."""
    program: str
    header: str
    """The file that every translation unit of a reduced build includes by force."""
    header_option: str
    """CMake entry for its absolute path; empty if the tree knows the file."""
    profile_build_type: str
    """A build type with run-time type information, which profiling needs: regions are types."""
    submodules: tuple[str, ...]
    sources: tuple[str, ...]
    dialect: Dialect

    @property
    def submodule_paths(self) -> tuple[str, ...]:
        return tuple(f"third_party/{name}" for name in self.submodules)

    def build_type(self, variant: Variant) -> str:
        return self.profile_build_type if variant is Variant.PROFILE else "Release"


SDK = Generation(
    name="sdk",
    releases="1.0 to 1.6",
    number=20190219,
    signs=("sdk/load-and-run/CMakeLists.txt",),
    traces_modes=False,
    program="sdk/load-and-run/",
    # The tree has no such file, so it gets a folder of its own.
    header="megtrim/bin_reduce.h",
    header_option="MGE_BIN_REDUCE",
    # For Arm, its Release build has no type information, even for profiling.
    profile_build_type="RelWithDebInfo",
    submodules=("midout", "flatbuffers", "Json", "cpuinfo"),
    sources=("dnn/src/", "src/", "sdk/load-and-run/"),
    dialect=dialects.SDK,
)
LITE = Generation(
    name="lite",
    releases="1.7 to 1.9",
    number=20190219,
    signs=("lite/load_and_run/CMakeLists.txt", "src/bin_reduce_cmake.h"),
    traces_modes=False,
    program="lite/load_and_run/",
    header="src/bin_reduce_cmake.h",
    header_option="",
    profile_build_type="Release",
    submodules=("midout", "flatbuffers", "Json", "gflags", "cpuinfo", "cpp_redis", "tacopie"),
    sources=("dnn/src/", "src/", "lite/"),
    dialect=dialects.LITE,
)
LITE_TRACED = replace(
    LITE, name="lite-traced", releases="1.10 and newer", number=20220507, traces_modes=True
)
GENERATIONS = (SDK, LITE, LITE_TRACED)


class Quirk(Value):
    """An empty field applies everywhere."""

    name: str
    toolchains: tuple[str, ...] = ()
    generations: tuple[str, ...] = ()
    variants: tuple[Variant, ...] = ()
    wrong: str
    seen: str
    options: tuple[tuple[str, str], ...]

    def applies(self, toolchain: str, variant: Variant, generation: str) -> bool:
        return (
            (not self.toolchains or toolchain in self.toolchains)
            and (not self.generations or generation in self.generations)
            and (not self.variants or variant in self.variants)
        )


QUIRKS: tuple[Quirk, ...] = (
    Quirk(
        name="gold",
        toolchains=("clang-linux-arm64", "host"),
        wrong="the engine adds -fuse-ld=gold on Linux: gold cannot leave functions out, and fails "
        "on a static profile build with a relocation overflow in R_AARCH64_LD64_GOTPAGE_LO15",
        seen="linking 1.13 with gold 1.16: the plain build for x86-64, the profile build for "
        "arm64; lld links both",
        options=(("CXX_SUPPORT_GOLD", "OFF"),),
    ),
    Quirk(
        name="icf-safe-instead-of-all",
        toolchains=("clang-linux-arm64",),
        generations=("lite", "lite-traced"),
        wrong="outside Android the engine asks for --icf=safe after our --icf=all",
        seen="reading the link command of 1.13; the last option wins",
        options=(("LINKER_SUPPORT_Z_NOCOPYRELOC_ICF_SAFE_NO_LLD", "OFF"),),
    ),
    Quirk(
        name="jit-needs-float16",
        wrong="a header made from float32-only models defines MEGDNN_DISABLE_FLOAT16, and then "
        "src/jit/impl/ast_c.cpp does not compile",
        seen="a reduced build of 1.13; switched off in all variants, so that they stay comparable",
        options=(("MGE_WITH_JIT", "OFF"),),
    ),
    Quirk(
        name="old-cmake-policies",
        wrong="bundled gflags and cpuinfo ask for policies that CMake 4 no longer has",
        seen="configuring 1.13 with CMake 4: 'Compatibility with CMake < 3.5 has been removed'",
        options=(("CMAKE_POLICY_VERSION_MINIMUM", "3.5"),),
    ),
)


def generation_of(files: Collection[str], *, traces_modes: bool, root: str) -> Generation:
    """Raises InputError for a tree that matches no generation, or two."""
    present = {each.signs for each in GENERATIONS if all(sign in files for sign in each.signs)}
    if len(present) == 1:
        signs = present.pop()
        fitting = [generation for generation in GENERATIONS if generation.signs == signs]
        return next((each for each in fitting if each.traces_modes == traces_modes), fitting[0])
    if present:
        both = " and ".join(sorted(signs[0] for signs in present))
        msg = f"{root} looks like two generations of MegEngine at once: it has {both}"
        raise InputError(msg, hint="is it one release's checkout? `git status` there shows more")
    msg = f"{root} is not a MegEngine of a generation that megtrim knows: {_missing(files)}"
    raise InputError(msg, hint="engine.source must name a checkout of MegEngine 1.0 or newer")


def needed_submodules(files: Collection[str], listed: Collection[str]) -> tuple[str, ...]:
    """All generations of one layout need the same ones. Raises InputError as generation_of does."""
    generation = generation_of(files, traces_modes=False, root="the engine")
    return tuple(path for path in generation.submodule_paths if path in listed)


def _missing(files: Collection[str]) -> str:
    reasons = []
    for signs in dict.fromkeys(generation.signs for generation in GENERATIONS):
        releases = [generation.releases for generation in GENERATIONS if generation.signs == signs]
        missing = " and ".join(sign for sign in signs if sign not in files)
        reasons.append(f"for {' or '.join(releases)} it has no {missing}")
    return "; ".join(reasons)


def is_checkout(folder: Path) -> bool:
    return any(all((folder / sign).is_file() for sign in each.signs) for each in GENERATIONS)


def find_checkouts(folder: Path) -> tuple[Path, ...]:
    """The one that ``folder`` is in, else those in or next to it that are equally near."""
    upwards = (folder, *folder.parents)
    around = next((upward for upward in upwards if is_checkout(upward)), None)
    if around is not None:
        return (around,)
    for upward in upwards[:_LEVELS]:
        found = tuple(sorted(inner for inner in _list_subfolders(upward) if is_checkout(inner)))
        if found:
            return found
    return ()


def _list_subfolders(folder: Path) -> Iterator[Path]:
    for each in (folder, *(folder / name for name in _VENDORED)):
        with suppress(OSError):  # one that may not be read holds no checkout for us
            yield from (inner for inner in each.iterdir() if inner.is_dir())


def quirk_options(
    quirks: tuple[Quirk, ...], toolchain: str, variant: Variant, generation: str
) -> tuple[tuple[str, str], ...]:
    fitting = (quirk for quirk in quirks if quirk.applies(toolchain, variant, generation))
    return tuple(option for quirk in fitting for option in quirk.options)
