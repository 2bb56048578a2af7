"""MegEngine from 1.7 on ("lite"): the header enters through ``src/bin_reduce_cmake.h``.

That file is force-included in every translation unit of a build that does not profile; older
generations took ``-DMGE_BIN_REDUCE``, which this one ignores without a word.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

from megtrim.engines import checkout as checkouts
from megtrim.engines import quirks
from megtrim.errors import InputError
from megtrim.process import Processes
from megtrim.recipe import BuildOrder, EngineIdentity, Toolchain, Variant

KIND = "megengine"
FORCED_HEADER = "src/bin_reduce_cmake.h"
GENERATION = 20220507

_SUBMODULES = ("midout", "flatbuffers", "Json", "gflags", "cpuinfo", "cpp_redis", "tacopie")
_INFERENCE = (
    ("CMAKE_BUILD_TYPE", "Release"),
    ("MGE_INFERENCE_ONLY", "ON"),
    ("MGE_WITH_CUDA", "OFF"),
    ("MGE_ARMV8_2_FEATURE_FP16", "OFF"),
    ("MGE_DISABLE_FLOAT16", "OFF"),
    ("BUILD_SHARED_LIBS", "OFF"),
)
_VARIANT_OPTIONS: Mapping[Variant, tuple[tuple[str, str], ...]] = {
    Variant.PLAIN: (),
    Variant.PROFILE: (("MGE_WITH_MIDOUT_PROFILE", "ON"),),
    Variant.REDUCED: (),
}
_FOLD = {"clang-linux-arm64": ("-Wl,-z,nocopyreloc", "-Wl,--icf=all")}
"""What the engine itself asks for on Android only; the documented sizes were linked like this."""

_MODES_SCRIPT = "dnn/scripts/gen_param_defs.py"
_MODES_SOURCE = "dnn/scripts/opr_param_defs.py"
_SOURCES = ("dnn/src/", "src/", "lite/")


class MegEngine:
    """A plain checkout with the submodules that an inference build needs."""

    def __init__(self, source: Path, processes: Processes) -> None:
        self._processes = processes
        self.checkout = checkouts.take(source, processes)
        self._refuse_what_is_no_engine()

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(KIND, GENERATION)

    def order(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildOrder:
        # Said either way: the same build folder may remember the other answer.
        minimum = (("MGE_WITH_MINIMUM_SIZE", "ON" if minimum_size else "OFF"),)
        options = (
            *_INFERENCE,
            *_VARIANT_OPTIONS[variant],
            *(minimum if variant is Variant.REDUCED else ()),
            *quirks.options(quirks.MEGENGINE, toolchain.kind, variant),
        )
        return BuildOrder(
            variant=variant,
            targets=targets,
            options=options,
            link_flags=_FOLD.get(toolchain.kind, ()),
            overrides=((FORCED_HEADER, header["bin_reduce.h"]),) if header else (),
            include=(("midout.h", header["midout.h"]),) if "midout.h" in header else (),
            forced_header=FORCED_HEADER if header else None,
        )

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        """Ask the engine's own script, which writes one ``NAME = VALUE`` a line."""
        with tempfile.TemporaryDirectory(prefix="megtrim-modes-") as folder:
            written = Path(folder) / "modes"
            script, source = self._path(_MODES_SCRIPT), self._path(_MODES_SOURCE)
            argv = (sys.executable, "-B", str(script), "--write-enum-items", "Elemwise:Mode")
            self._processes.capture(*argv, str(source), str(written))
            lines = written.read_text(encoding="utf-8").splitlines()
        return tuple(_mode(line) for line in lines if line.strip())

    def texts(self) -> Iterator[tuple[str, str]]:
        for name in self.checkout.files:
            if name.startswith(_SOURCES) and name.endswith((".h", ".cpp", ".inl")):
                yield name, self._path(name).read_text(encoding="utf-8", errors="replace")

    def _path(self, name: str) -> Path:
        return self.checkout.root / name

    def _refuse_what_is_no_engine(self) -> None:
        root = self.checkout.root
        if FORCED_HEADER not in self.checkout.files or "lite/load_and_run" not in "\n".join(
            self.checkout.files
        ):
            msg = f"{root} is no MegEngine of generation {GENERATION}: it has no {FORCED_HEADER}"
            raise InputError(msg, hint="engine.source must name a checkout of 1.7 or newer")
        present = {
            name.split("/")[1] for name in self.checkout.files if name.startswith("third_party/")
        }
        missing = [name for name in _SUBMODULES if name not in present]
        if missing:
            paths = " ".join(f"third_party/{name}" for name in missing)
            msg = f"{root} lacks submodules: {', '.join(missing)}"
            raise InputError(msg, hint=f"git -C {root} submodule update --init {paths}")


def _mode(line: str) -> tuple[str, int]:
    name, _, value = line.replace(" ", "").rstrip(",").partition("=")
    return name, int(value)
