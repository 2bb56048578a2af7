"""MegEngine: what its generations share, and its own script for Android.

The script pastes paths and options into shell commands: paths that it would split are rejected.
"""

import re
import shlex
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    BuildScript,
    BuildSpec,
    EngineIdentity,
    EngineLibrary,
    HostProgram,
    Linkage,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.core.functions.refusals import RefusalRule
from megtrim.core.keep.algo_cache import CacheFormat
from megtrim.core.keep.operators import OperatorCode
from megtrim.core.project import ModelReader, Project
from megtrim.engines.load_and_run.program import LoadAndRun
from megtrim.engines.megengine import generations
from megtrim.engines.megengine.algo_cache import MgeCaches
from megtrim.engines.megengine.generations import (
    MODES_FILE,
    MODES_TAG,
    QUIRKS,
    generation_of,
    quirk_options,
)
from megtrim.engines.megengine.graph_passes import INSERTED
from megtrim.engines.megengine.models.reader import MgeModels
from megtrim.engines.midout.header import CONTRACT
from megtrim.engines.midout.marks import Midout
from megtrim.engines.models.operators import OPERATOR_CODE
from megtrim.engines.options import OWN_OPTIONS, forced_off
from megtrim.engines.source_texts import SourceTexts
from megtrim.libs.programs.flags import Dialect
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.value import Value
from megtrim.places.compile.projects import checkout as checkouts
from megtrim.places.compile.projects.checkout import Checkout

_DEFINED = re.compile(
    r"\bDEFINE_(bool|u?int32|u?int64|double|string)\s{0,99}\(\s{0,99}([A-Za-z_]\w{0,99})", re.ASCII
)
_COMPARED = re.compile(
    r'\bstrcmp\s{0,9}\(\s{0,99}argv\[i\]\s{0,9},\s{0,99}"--([a-z0-9]{1,40}(?:-[a-z0-9]{1,40}){0,20})"'
)
_LAYOUT = re.compile(r"^\s{0,99}cb\(([a-z0-9_]{1,99})\)\s{0,9};", re.MULTILINE)
_TAKES_NEXT = re.compile(r"\+\+\s{0,9}i\b")
_MOST_FILES = 200
_LARGEST_FILE_BYTES = 2**20
TARGETS_FILE = "lite/CMakeLists.txt"

# Read from the link lines that the engine's own CMake makes for its examples and programs (1.6.0
# and 1.13). Its operators do not need the whole archive: the registry calls a function in the file
# that registers them all.
_TARGETS = {
    # The engine in one archive with flatbuffers, cpuinfo and clog, which lite_static needs.
    Linkage.STATIC: ("lite_static_all_in_one", "liblite_static_all_in_one.a"),
    Linkage.SHARED: ("lite_shared", "liblite_shared.so"),
}
_INCLUDE = ("lite/include", "lite/lite-c/include")
_COPIES = tuple(
    (f"lite-c/{name}", f"lite/include/lite/{name}") for name in ("common_enum_c.h", "macro.h")
)
"""The C interface includes them by these names alone; the engine's own build names a third folder,
whose other headers have names such as tensor.h, which an app may have, too."""

_ANDROID = ("-ldl", "-llog")
_LINUX = ("-ldl", "-lrt", "-latomic", "-pthread")
_SECTIONS = ("-Wl,--gc-sections",)
_LLD = ("-Wl,-z,nocopyreloc", "-Wl,--icf=all", *_SECTIONS, "-flto=full")
KIND = "megengine"
_INFERENCE = (
    ("MGE_INFERENCE_ONLY", "ON"),
    ("MGE_WITH_CUDA", "OFF"),
    ("MGE_DISABLE_FLOAT16", "OFF"),
    ("BUILD_SHARED_LIBS", "OFF"),
)
_VARIANT_OPTIONS: Mapping[Variant, tuple[tuple[str, str], ...]] = {
    Variant.PLAIN: (),
    Variant.PROFILE: (("MGE_WITH_MIDOUT_PROFILE", "ON"),),
    Variant.REDUCED: (),
}
_FOLD = {"clang-linux-arm64": ("-Wl,-z,nocopyreloc", "-Wl,--icf=all")}
"""Flags that the engine itself adds only for Android; the documented sizes include them."""

_QUICK = ("-O0",)
"""A trace records what ran, not how fast; with less optimisation the same regions run."""

_KEPT = ("cpuinfo/", "*AsyncQueueSC*", "*ThreadPool*")
"""Functions that run by chance. cpuinfo examines the machine: phones of one CPU class differ, and
1.13's version reads uninitialised bytes if /proc/cpuinfo has no line ``Hardware``. Queues and
threads grow and wait by timing: seen to trap after 3,000 iterations."""

_REFUSALS = (
    RefusalRule(function="mgb::__assert_fail__", message=4),
    RefusalRule(function="megdnn::__assert_fail__", message=4),
)
"""How its checks end without exceptions, with the checked expression as the fourth argument
(``src/core/include/megbrain/common.h``, ``dnn/src/common/utils.cpp``; megdnn's is null in minimum
size). Its other errors are traps (``mgb_trap``, ``megdnn_trap``, ``LITE_THROW``), which the
generated header turns into calls."""

_OLD_POLICIES = ("CMAKE_POLICY_VERSION_MINIMUM", "3.5")
"""What the engine bundles asks for policies that CMake 4 no longer has."""

_KERNELS = (
    "dnn/src/aarch64",
    "dnn/src/arm_common",
    "dnn/src/armv7",
    "dnn/src/fallback",
    "dnn/src/x86",
)
"""Where a model spends nearly all its time; 1.0, 1.6, 1.9 and 1.13 all have these folders."""

_MODES_SCRIPT = "dnn/scripts/gen_param_defs.py"
_MODES_SOURCE = "dnn/scripts/opr_param_defs.py"
_FLATBUFFERS = "third_party/flatbuffers"
_FLATBUFFERS_LISTS = f"{_FLATBUFFERS}/CMakeLists.txt"
_FLATC = HostProgram(
    source=_FLATBUFFERS,
    target="flatc",
    place="build_dir/host_flatc/install/bin/flatc",
    options=(("FLATBUFFERS_BUILD_TESTS", "OFF"), _OLD_POLICIES),
)
_CLANG = re.compile(r"\bclang version (\d+)\.")
_STRICT_CLANG = 19
_TOLERANT = (
    # flatbuffers makes an error of each warning, and this is one of what it uses.
    "-Wno-error=deprecated-declarations",
    # The naive kernels call a template of their class so, without arguments.
    "-Wno-missing-template-arg-list-after-template-kw",
)
"""What clang accepts of the engine only so, from this release on."""
_MODULES = ".gitmodules"
_SCHEMAS = ("src/serialization/impl/schema.fbs", "src/serialization/impl/schema_v2.fbs")
_FORMATS = {"mgb1": "mge v1", "mgv2": "mge v2"}
_IDENTIFIER = re.compile(r'^file_identifier "([^"]*)";', re.MULTILINE)
SCRIPT = "scripts/cmake-build/cross_build_android_arm_inference.sh"
_WHY = "the engine's own build for Android: it makes flatc, and chooses the ABI's options"
_GETOPTS = re.compile(r'\bgetopts +"([^"\n]{1,99})"')
_RELEASE = re.compile(r"^NDK r(\d+)")


class NdkLimit(Value):
    what: str
    pattern: re.Pattern[str]
    lowest: int
    highest: int
    wrong: str
    seen: str


LIMITS = (
    NdkLimit(
        what="NDK r{}",
        pattern=_RELEASE,
        lowest=20,
        highest=99,
        wrong="is too old for this engine",
        seen="the engine's own page on building suggests r20 or r21",
    ),
    NdkLimit(
        what="clang {} of the NDK",
        pattern=_CLANG,
        lowest=0,
        highest=_STRICT_CLANG - 1,
        wrong="is too new for this engine: it rejects the flatbuffers that the engine bundles",
        seen="clang 19 on Linux: -Werror, a deprecated declaration; clang 14 accepts them",
    ),
)


def narrow_dialect(dialect: Dialect, checkout: Checkout, program: str) -> Dialect:
    """Releases of one generation differ, and a fork may have flags of its own."""
    names = [n for n in sorted(checkout.files) if n.startswith(program) and n.endswith(".cpp")]
    switches: set[str] = set()
    values: set[str] = set()
    parse = _parse_comparisons if dialect.literal else _parse_gflags
    for source in names[:_MOST_FILES]:
        text = checkout.text(source, most_bytes=_LARGEST_FILE_BYTES)
        for name, takes_value in parse(text):
            if takes_value:
                values.add(name)
            else:
                switches.add(name)
    if not switches and not values:
        return dialect
    return dialect.of_tree(frozenset(switches), frozenset(values))


def _parse_gflags(text: str) -> Iterable[tuple[str, bool]]:
    for kind, name in _DEFINED.findall(text):
        yield name, kind != "bool"


def _parse_comparisons(text: str) -> Iterable[tuple[str, bool]]:
    found = list(_COMPARED.finditer(text))
    if not found:
        return
    ends = [match.start() for match in found[1:]] + [len(text)]
    for match, end in zip(found, ends, strict=True):
        step = _TAKES_NEXT.search(text, match.end(), end)
        yield match[1].replace("-", "_"), step is not None
    # One macro defines the flags of all tensor layouts.
    yield from ((f"enable_{name}", False) for name in _LAYOUT.findall(text))


def describe_library(
    targets: str, linkage: Linkage, toolchain: Toolchain, *, root: str
) -> EngineLibrary:
    """Raises InputError for a tree without that library."""
    target, file = _TARGETS[linkage]
    if f"add_library({target} " not in " ".join(targets.split()).replace("( ", "("):
        msg = f"{root} has no library for applications: {TARGETS_FILE} makes no {target}"
        raise InputError(msg, hint="put the application into the engine's tree, without source")
    return EngineLibrary(
        linkage=linkage,
        file=file,
        include=_INCLUDE,
        copies=_COPIES,
        needs=_ANDROID if toolchain.ndk else _LINUX,
        link_options=_LLD if toolchain.kind in ("clang-linux-arm64", "ndk") else _SECTIONS,
    )


_STARTER = """
# The checkout, with its submodules. megtrim only reads it, and builds in a copy.
# On the command line, `--engine PATH` names another checkout.
engine:
  kind: megengine
{source}  # The program that is trimmed and run, and CMake options beyond megtrim's own.
  #target: load_and_run
  #cmake: {{MGE_WITH_TEST: false}}
"""


class MegEngine(Project):
    title = "MegEngine"
    starter = _STARTER
    starter_toolchain = "clang-linux-arm64"
    """Known to build it; auto might take zig."""
    tree = "the folder of a MegEngine checkout"
    clone = "git clone https://github.com/MegEngine/MegEngine"
    model_format = "mge"
    models: ModelReader | None = MgeModels()
    caches: CacheFormat | None = MgeCaches()
    operator_code: OperatorCode | None = OPERATOR_CODE
    own_options: Mapping[str, str] = OWN_OPTIONS
    kept: tuple[str, ...] = _KEPT
    refusals: tuple[RefusalRule, ...] = _REFUSALS
    kernels: tuple[str, ...] = _KERNELS
    switches: tuple[Switch, ...] = tuple(Switch)

    def __init__(self, source: Path, processes: ProcessRunner, without: Path | None = None) -> None:
        self._processes = processes
        self.checkout = checkouts.take(source, processes, without=without)
        traced = MODES_TAG in self.checkout.text(MODES_FILE)
        root = str(self.checkout.root)
        self.generation = generation_of(self.checkout.files, traces_modes=traced, root=root)
        self._refuse_missing_submodules()
        self._sources = SourceTexts(self.checkout)
        self.marks = Midout(
            modes=self.elemwise_modes,
            scopes=lambda: self._sources.scopes,
            texts=self.texts,
            inserted=INSERTED,
        )
        self._refuse_what_cannot_be_trimmed()

    @staticmethod
    def is_checkout(folder: Path) -> bool:
        return generations.is_checkout(folder)

    @staticmethod
    def find_checkouts(folder: Path) -> tuple[Path, ...]:
        return generations.find_checkouts(folder)

    @staticmethod
    def list_submodules(files: Collection[str], listed: Collection[str]) -> tuple[str, ...]:
        return generations.needed_submodules(files, listed)

    def find_forced_off(self, switch: Switch, toolchain: Toolchain, spec: BuildSpec) -> str:
        return forced_off(switch, self.checkout, toolchain, spec)

    @property
    def flags(self) -> LoadAndRun:
        return LoadAndRun(dialect=self.dialect())

    def identity(self) -> EngineIdentity:
        return self.checkout.identity(KIND, self.generation.number)

    def make_spec(
        self,
        variant: Variant,
        toolchain: Toolchain,
        *,
        targets: tuple[str, ...],
        minimum_size: bool,
        header: Mapping[str, str],
    ) -> BuildSpec:
        generation = self.generation
        options = [("CMAKE_BUILD_TYPE", generation.build_type(variant))]
        options += _INFERENCE
        options.append(("MGE_ARMV8_2_FEATURE_FP16", "ON" if toolchain.fp16 else "OFF"))
        options += _VARIANT_OPTIONS[variant]
        if variant is Variant.REDUCED:
            # Always set: the build folder may have cached the other value.
            options.append(("MGE_WITH_MINIMUM_SIZE", "ON" if minimum_size else "OFF"))
        options += quirk_options(QUIRKS, toolchain.kind, variant, generation.name)
        overrides = self._sources.overrides(header, forced=generation.header)
        quick = _QUICK if variant is Variant.PROFILE else ()
        tolerant = find_tolerant_flags(toolchain)
        flatc = replace(_FLATC, options=(*_FLATC.options, *_list_flags(tolerant)))
        return BuildSpec(
            variant=variant,
            targets=targets,
            options=tuple(options),
            link_flags=_FOLD.get(toolchain.kind, ()),
            compile_flags=(*quick, *tolerant),
            script=self._script(toolchain, targets),
            overrides=overrides,
            include=self._sources.include(header),
            forced_header=generation.header if header else None,
            header_option=generation.header_option,
            marks_header=CONTRACT if CONTRACT in header else "",
            host_programs=(flatc,) if _FLATBUFFERS_LISTS in self.checkout.files else (),
        )

    def library(self, linkage: Linkage, toolchain: Toolchain) -> EngineLibrary:
        targets = self.checkout.text(TARGETS_FILE)
        return describe_library(targets, linkage, toolchain, root=str(self.checkout.root))

    def elemwise_modes(self) -> tuple[tuple[str, int], ...]:
        with tempfile.TemporaryDirectory(prefix="megtrim-modes-") as folder:
            written = Path(folder) / "modes"
            script, source = (self.checkout.root / name for name in (_MODES_SCRIPT, _MODES_SOURCE))
            argv = (sys.executable, "-B", str(script), "--write-enum-items", "Elemwise:Mode")
            self._processes.capture(*argv, str(source), str(written))
            lines = written.read_text(encoding="utf-8").splitlines()
        pairs = (line.replace(" ", "").rstrip(",").partition("=") for line in lines if line.strip())
        return tuple((name, int(value)) for name, _, value in pairs)

    def texts(self) -> Iterator[tuple[str, str]]:
        for name in self.checkout.files:
            if name.startswith(self.generation.sources) and name.endswith((".h", ".cpp", ".inl")):
                yield name, self.checkout.text(name)

    def formats(self) -> tuple[str, ...]:
        texts = (self.checkout.text(schema) for schema in _SCHEMAS if schema in self.checkout.files)
        found = [each for text in texts for each in _IDENTIFIER.findall(text)]
        known = [_FORMATS[each] for each in found if each in _FORMATS]
        return tuple(known) if len(known) == len(found) else ()

    def dialect(self) -> Dialect:
        return narrow_dialect(self.generation.dialect, self.checkout, self.generation.program)

    def _script(self, toolchain: Toolchain, targets: tuple[str, ...]) -> BuildScript | None:
        if not toolchain.includes:
            return None
        check_ndk(toolchain)
        text = self.checkout.text(SCRIPT)
        expect_abi(text, toolchain.abi, root=str(self.checkout.root))
        return script_for(toolchain, targets)

    def _refuse_missing_submodules(self) -> None:
        root = self.checkout.root
        files = self.checkout.files
        listed = self.checkout.text(_MODULES).split() if _MODULES in files else None
        needed = self.generation.submodule_paths
        present = {"/".join(name.split("/")[:2]) for name in files}
        missing = [
            path for path in needed if path not in present and (listed is None or path in listed)
        ]
        if missing:
            names = ", ".join(path.partition("/")[2] for path in missing)
            msg = f"{root} has no files of its submodules {names}"
            command = ("git", "-C", str(root), "submodule", "update", "--init", *missing)
            raise InputError(msg, hint=shlex.join(command))

    def _refuse_what_cannot_be_trimmed(self) -> None:
        text = self.checkout.text("CMakeLists.txt")
        for name in ("MGE_WITH_MIDOUT_PROFILE", self.generation.header_option):
            if name not in text:
                msg = f"{self.checkout.root} has no CMake option {name}, which megtrim needs"
                raise InputError(msg, hint="is it a complete checkout of a release from 1.0 on?")


def script_for(toolchain: Toolchain, targets: Sequence[str]) -> BuildScript:
    arguments = ["-a", toolchain.abi]
    if toolchain.fp16:
        arguments.append("-f")
    arguments += ["-e", " ".join(targets)]
    return BuildScript(
        path=SCRIPT,
        arguments=tuple(arguments),
        build=f"build_dir/android/{toolchain.abi}/Release/build",
        why=_WHY,
        entries_variable="EXTRA_CMAKE_ARGS",
        environment=tuple(_list_variables(toolchain)),
    )


def _list_variables(toolchain: Toolchain) -> Iterator[tuple[str, str]]:
    yield "NDK_ROOT", toolchain.ndk
    yield _OLD_POLICIES
    # The script builds flatc with this machine's compiler.
    if toolchain.host_cxx:
        yield "CXX", toolchain.host_cxx[0]


def expect_abi(text: str, abi: str, *, root: str) -> None:
    if not text:
        msg = f"{root} has no {SCRIPT}, which Android builds need"
        raise InputError(msg, hint="use a complete checkout of MegEngine, or another toolchain")
    if f'"{abi}"' not in text:
        msg = f"{root}/{SCRIPT} does not name the ABI {abi}, so this tree cannot build it"
        raise InputError(msg, hint="change toolchain.abi to one that the script names")
    taken = _GETOPTS.search(text)
    if taken is None or not {"e:", "j:"} <= set(re.findall("[a-z]:", taken[1])):
        msg = f"{root}/{SCRIPT} has no options -e TARGET and -j JOBS, which megtrim uses"
        raise InputError(msg, hint="the engine's script has them from release 1.6 on")


def find_tolerant_flags(toolchain: Toolchain) -> tuple[str, ...]:
    """Return what this compiler needs to accept the flatbuffers that the engine bundles."""
    found = _CLANG.search(toolchain.version)
    return _TOLERANT if found and int(found[1]) >= _STRICT_CLANG else ()


def _list_flags(flags: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    return (("CMAKE_CXX_FLAGS", " ".join(flags)),) if flags else ()


def check_ndk(toolchain: Toolchain) -> None:
    """Complete builds were seen with the parts of r22 and clang 14."""
    for limit in LIMITS:
        found = limit.pattern.search(toolchain.version)
        if found is None or limit.lowest <= int(found[1]) <= limit.highest:
            continue
        msg = f"{limit.what.format(found[1])} {limit.wrong}"
        raise InputError(msg, hint=f"use NDK r21e, which the engine suggests ({limit.seen})")
