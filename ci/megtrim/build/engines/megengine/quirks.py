"""Known quirks of engines, as data. ``seen`` says how each is known."""

from __future__ import annotations

from megtrim.build_spec import Variant
from megtrim.util.value import Value


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


MEGENGINE: tuple[Quirk, ...] = (
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


def options(
    quirks: tuple[Quirk, ...], toolchain: str, variant: Variant, generation: str
) -> tuple[tuple[str, str], ...]:
    fitting = (quirk for quirk in quirks if quirk.applies(toolchain, variant, generation))
    return tuple(option for quirk in fitting for option in quirk.options)
