"""The sample engine of ``examples/sample-engine``, which includes its header as MegEngine does."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    MINIMUM_SIZE,
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.keep.algo_cache import CacheFormat
from megtrim.core.keep.operators import OperatorCode
from megtrim.core.project import ModelReader, Project
from megtrim.engines.load_and_run import dialects
from megtrim.engines.load_and_run.program import LoadAndRun
from megtrim.engines.midout.header import CONTRACT
from megtrim.engines.midout.marks import Midout
from megtrim.engines.models.operators import OPERATOR_CODE
from megtrim.engines.options import OWN_OPTIONS, forced_off
from megtrim.engines.sample_caches import SampleCaches
from megtrim.engines.sample_models import SampleModels
from megtrim.engines.source_texts import SourceTexts
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import find_shipped
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout as checkouts

KIND = "sample"
FORCED_HEADER = "src/bin_reduce_cmake.h"
GENERATION = 20220507
_DIALECT = replace(dialects.LITE, name="the sample engine", dumps_warm_ups=False)
_FOLD = dict.fromkeys(("clang-linux-arm64", "clang-linux-armhf", "ndk"), ("-Wl,--icf=all",))
"""Toolchains with lld, which knows the flag; the engine's own CMake tests for it."""
_MODES = "src/elemwise_modes.txt"
_OPTIONS = "src/load_and_run/options.cpp"
_FLAG = re.compile(r'\b(switched|counted|named)\("([a-z0-9_]{1,99})"')
_SOURCES = ("CMakeLists.txt", "cmake/", "src/")


def find_embedded_source() -> Path:
    return find_shipped("sample_engine", "examples/sample-engine")


_STARTER = """
# The small engine that comes with megtrim: it builds in seconds and shows the whole chain.
engine:
  kind: sample
{source}"""


class SampleEngine(Project):
    title = "the sample engine"
    starter = _STARTER
    model_format = "sample"
    models: ModelReader | None = SampleModels()
    caches: CacheFormat | None = SampleCaches()
    operator_code: OperatorCode | None = OPERATOR_CODE
    own_options: Mapping[str, str] = OWN_OPTIONS
    kept: tuple[str, ...] = ("sample::fail", "sample::log_line")
    kernels: tuple[str, ...] = ("src/kernels",)
    switches: tuple[Switch, ...] = MINIMUM_SIZE

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        tree = checkouts.take(source, processes, without=without)
        # Models, inputs and pages are next to the sources and do not enter the build.
        files = {name: sha for name, sha in tree.files.items() if name.startswith(_SOURCES)}
        if FORCED_HEADER not in files:
            msg = f"{source} is not a sample engine: it has no {FORCED_HEADER}"
            raise InputError(msg, hint="engine.source must name a copy of examples/sample-engine")
        self.checkout = checkouts.Checkout(
            root=source, files=files, commit=tree.commit, dirty=tree.dirty, parts=_SOURCES
        )
        self._sources = SourceTexts(self.checkout)
        self.marks = Midout(
            modes=self.elemwise_modes, scopes=lambda: self._sources.scopes, texts=self.texts
        )

    @staticmethod
    def find_embedded() -> Path | None:
        return find_embedded_source()

    @staticmethod
    def is_checkout(folder: Path) -> bool:
        return (folder / FORCED_HEADER).is_file()

    def find_forced_off(self, switch: Switch, toolchain: Toolchain, spec: BuildSpec) -> str:
        return forced_off(switch, self.checkout, toolchain, spec)

    @property
    def flags(self) -> LoadAndRun:
        return LoadAndRun(dialect=self.dialect())

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(KIND, GENERATION)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        del toolchain  # the spec is the same for all
        profile = (("MGE_WITH_MIDOUT_PROFILE", "ON" if variant is Variant.PROFILE else "OFF"),)
        minimum = variant is Variant.REDUCED and minimum_size
        return BuildSpec(
            variant=variant,
            targets=targets,
            options=(
                ("CMAKE_BUILD_TYPE", "Release"),
                *profile,
                ("MGE_WITH_MINIMUM_SIZE", "ON" if minimum else "OFF"),
            ),
            overrides=self._sources.overrides(header, forced=FORCED_HEADER),
            include=self._sources.include(header),
            forced_header=FORCED_HEADER if header else None,
            marks_header=CONTRACT if CONTRACT in header else "",
        )

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        # Its operators register themselves: nothing refers to their object files.
        static = linkage is Linkage.STATIC
        return EngineLibrary(
            linkage=linkage,
            file="libsample_engine.a" if static else "libsample_engine.so",
            include=("src/public",),
            whole=static,
            needs=("-pthread",),
            link_options=("-Wl,--gc-sections", *_FOLD.get(toolchain.kind, ())),
        )

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        path = self.checkout.root / _MODES
        lines = path.read_text(encoding="utf-8").splitlines()
        pairs = (line.split() for line in lines if line.strip() and not line.startswith("#"))
        return tuple((name, int(value)) for name, value in pairs)

    def texts(self) -> Iterator[tuple[str, str]]:
        for name in sorted(self.checkout.files):
            if name.endswith((".h", ".cpp", ".inl")):
                yield name, self.checkout.text(name)

    def formats(self) -> tuple[str, ...]:
        return ("sample v1",)

    def dialect(self) -> Dialect:
        found = (
            _FLAG.findall(self.checkout.text(_OPTIONS)) if _OPTIONS in self.checkout.files else []
        )
        if not found:
            return replace(_DIALECT, closed=False)
        switches = frozenset(name for kind, name in found if kind == "switched")
        values = frozenset(name for kind, name in found if kind != "switched")
        return _DIALECT.of_tree(switches, values)
