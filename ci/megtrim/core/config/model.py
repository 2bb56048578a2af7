"""What megtrim.yaml says, as frozen values; editors show the docstrings of the keys.

Paths are as written. A key is added here only when the product obeys it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, StrictBool, model_validator

from megtrim.core.build_spec import MINIMUM_SIZE, Linkage, Relocations, Switch
from megtrim.core.config.commands import CommandConfig
from megtrim.core.config.device import DeviceConfig, HostedRunner
from megtrim.core.config.limits import Budget, Waiver
from megtrim.core.config.performance import MemoryConfig, PerfConfig, WorkConfig
from megtrim.core.config.value_types import (
    AbsoluteTolerance,
    Argument,
    CompilerName,
    ConfigSection,
    DurationS,
    EmulatedCpu,
    Export,
    FilePath,
    FilePaths,
    ImageName,
    InputName,
    Items,
    Name,
    NdkRelease,
    OptionName,
    OptionValue,
    Pattern,
    RelativeTolerance,
    Threads,
    TimeoutS,
    ToolchainName,
    Toolchains,
    VariableName,
    VariableValue,
    Whole,
)
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.environment import MOST_VARIABLES, Variables


class Application(ConfigSection):
    """A program that is trimmed with the engine it is built on."""

    name: Name
    """Of the program, and of the CMake target that makes it."""
    source: FilePath | None = None
    """Folder with its own CMakeLists.txt; left out: a target in the engine's tree."""
    library: Linkage = Field(default=Linkage.STATIC, validate_default=True)
    """static: the engine is linked in. shared: with its shared object. Needs source, except for
    kind cmake, where left out it is as the engine's target: shared for a .so."""
    cmake: dict[OptionName, OptionValue] = Field(default={})
    """CMake options of its own CMakeLists.txt: NAME: value, as engine.cmake. Needs source."""
    lto: Literal["none", "full"] = "none"
    """full: link-time optimisation of it and of the engine, except in the profile build."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""

    @property
    def is_shared(self) -> bool:
        return self.library is Linkage.SHARED


class SizeFlagsConfig(ConfigSection):
    """Size optimisations, for the reduced build; left out: optimize decides."""

    unwind_tables: StrictBool | None = None
    """false: without the tables that exceptions and debuggers need; exceptions must be off."""
    small_code: Literal["none", "Os", "Oz"] | None = None
    """How all but the engine's kernels is compiled: Os for size, Oz for the smallest size."""
    lto: Literal["none", "full"] | None = None
    """full: link-time optimisation, which needs clang, lld, time and memory."""
    fold: Literal["none", "all"] | None = None
    """all: identical functions share their bytes, by lld's --icf. none: as the engine links."""
    virtual_functions: StrictBool | None = None
    """false: without virtual functions that no call can reach; needs lto: full."""


OPTIONS: Mapping[Switch, str] = {
    Switch.RTTI: "MGE_ENABLE_RTTI",
    Switch.LOGGING: "MGE_ENABLE_LOGGING",
    Switch.EXCEPTIONS: "MGE_ENABLE_EXCEPTIONS",
    Switch.FLATBUFFERS: "MGB_WITH_FLATBUFFERS",
}
"""CMake options of the engine; read in its CMakeLists.txt at v1.6.0 and 47952c075d86."""

MINIMUM_SIZE_OPTION = "MGE_WITH_MINIMUM_SIZE"


def switched_off(trim: TrimConfig) -> tuple[Switch, ...]:
    said = trim.switches.model_dump()
    minimum = MINIMUM_SIZE if trim.minimum_size else ()
    return tuple(each for each in Switch if said[each] is False or each in minimum)


def switched_on(trim: TrimConfig) -> tuple[Switch, ...]:
    said = trim.switches.model_dump()
    return tuple(each for each in Switch if said[each] is True)


DAY_S = 86_400.0
CMAKE = "cmake"
LINK = "link"
SHARED_SUFFIX = ".so"
ARCHIVE_SUFFIX = ".a"
DEFAULT_LEVEL_OF_CMAKE = "deferred"
DEFAULT_TARGET = "load_and_run"
DEFAULT_COMPILER = "cc"
BuildCommand = Annotated[tuple[Argument, ...], Field(min_length=1)]
_SHARED = re.compile(r".+\.so(\.[0-9]+)*")


def is_shared_object(target: str) -> bool:
    return _SHARED.fullmatch(target) is not None


class EngineConfig(ConfigSection):
    """The engine that is trimmed."""

    kind: Literal["megengine", "sample", "cmake", "link"]
    """megengine: a checkout of MegEngine. sample: the small engine that comes with megtrim.
    cmake: any CMake project, which is built by Ninja. link: any project that its own commands
    build; how they link is recorded."""
    source: FilePath | None = None
    """Folder of the source; the sample engine brings its own."""
    target: Name = DEFAULT_TARGET
    """Program that is built, trimmed, and run. Needed for cmake and link: a program, or a library
    by its file's name, such as libzstd.so or libzstd.a, which `applications` use; for link by the
    name that programs load it by, such as libz.so.1."""
    cmake: dict[OptionName, OptionValue] = Field(default={})
    """Further CMake options: NAME: value; true and false become ON and OFF."""
    folder: FilePath | None = None
    """cmake: folder of its CMakeLists.txt in source, such as build/cmake; left out: source."""
    include: Annotated[FilePaths, Field(min_length=1)] = ()
    """cmake: folders in source with the headers that applications include; left out: include,
    if there is such a folder, or else source."""
    build: Annotated[tuple[BuildCommand, ...], Field(min_length=1)] = ()
    """link: the commands that build it, each a list of words, such as [[./configure], [make, -j4]].
    They run one after the other, without a shell, in a copy of source."""
    compiler: CompilerName = DEFAULT_COMPILER
    """link: the compiler that links the target, by its name, such as aarch64-linux-gnu-gcc."""

    @property
    def is_project(self) -> bool:
        """Whether it is a team's own project, which has neither models nor marked kernels."""
        return self.kind in (CMAKE, LINK)


class ToolchainConfig(ConfigSection):
    """The compiler that builds the engine."""

    kind: Literal["auto", "zig", "clang-linux-arm64", "ndk", "host"] = "auto"
    """auto: clang-linux-arm64 if it is there, or else zig, or else host; without qemu, for this
    machine. ndk: Android, ANDROID_NDK_ROOT names the NDK."""
    prefer: Literal["zig"] | None = None
    """auto: zig, or else host, not clang-linux-arm64: machines with zig make the same program."""
    ndk: NdkRelease | None = None
    """ndk: the release that must be found, such as r21e; left out: any."""
    abi: Literal["arm64-v8a", "armeabi-v7a"] | None = None
    """ndk: Android's name of the architecture; left out: arm64-v8a."""
    api: Annotated[int, Whole(16, 99)] | None = None
    """ndk: API level of the oldest phone; left out: the lowest that the ABI has."""
    fp16: StrictBool = False
    """ndk, arm64-v8a: use the half-precision instructions of Armv8.2; not on older phones."""
    pages: Literal["4 KiB", "16 KiB"] | None = None
    """ndk: largest memory pages of the phones that load it; left out: 16 KiB for arm64-v8a, as
    Google's store asks of apps for Android 15, 4 KiB for armeabi-v7a."""
    stl: Literal["c++_static", "c++_shared"] | None = None
    """ndk: the C++ runtime, in each file or libc++_shared.so of the whole app; left out: what the
    engine's build asks for, or else c++_static."""
    clang: Annotated[int, Whole(13, 99)] | None = None
    """clang-linux-arm64: the release of clang and lld, such as 16; left out: 14, or else 15, 16,
    13."""
    image: ImageName | None = None
    """Docker image to build in, best by digest; left out: this machine."""
    jobs: Annotated[int, Whole(1, 1024)] | None = None
    """Compilers that run at the same time; left out: one per core."""


class SwitchesConfig(ConfigSection):
    """Switches of the engine, for the reduced build; left out: minimum_size decides."""

    rtti: StrictBool | None = None
    """false: without C++ type information. Release builds of MegEngine for Arm never have it."""
    logging: StrictBool | None = None
    """false: without log lines."""
    exceptions: StrictBool | None = None
    """false: every error of the engine is a trap without a message."""
    flatbuffers: StrictBool | None = None
    """false: without the readers of all .mge models; refused if a model needs them."""


class TrimConfig(ConfigSection):
    """How far the engine is trimmed."""

    level: Literal["region", "function", "deferred"] = "region"
    """region: kernels that no scenario runs are compiled out. function: functions that no
    scenario ran are left out at the link, too: much smaller, and more brittle. deferred: they move
    into a second file, from which the program loads them when it needs them; so it is for kind
    cmake, if left out."""
    base: Literal["reduced", "plain"] = "reduced"
    """The build that the levels function and deferred start from. plain: no profile build, no
    regions; left out for kind cmake."""
    keep: tuple[Pattern, ...] = ()
    """Functions to keep in any case: shell patterns for names, or folders such as src/log/."""
    exports: tuple[Export, ...] = Field(default=(), min_length=1)
    """What shared objects still export: names, shell patterns, and @applications, which stands for
    what their applications import. Left out: all that the engine exports."""
    crash_ids: StrictBool = False
    """true: each function and region that is left out has a trap of its own, so that a crash in the
    field names it exactly (megtrim explain --crash); costs some bytes for each."""
    layout: Literal["scoped", "upstream"] = "scoped"
    """scoped: a file sees the regions of its own tags. upstream: every file sees all regions."""
    minimum_size: StrictBool = True
    """Build the reduced variant with the engine's minimum-size switch: no RTTI, log, exceptions."""
    switches: SwitchesConfig = SwitchesConfig()
    prices: StrictBool = False
    """true: sizes.json and the verdict hold what each model costs, which takes a few
    more links."""
    optimize: Literal["none", "size"] = "none"
    """none: the documented recipe's compiler flags, nothing else. size: all size
    optimisations that the toolchain and the switches allow."""
    means: SizeFlagsConfig = SizeFlagsConfig()
    relocations: Relocations | None = None
    """How relocations are packed. android: ndk, API level 23 on. relr: ndk, API level 30 on, or
    clang-linux-arm64, glibc 2.36 on. Left out: none, or for ndk in the reduced build alone what
    optimize: size may choose."""


class _ToolchainEntry(ConfigSection):
    """What one of several toolchains is called."""

    name: ToolchainName
    """By which --config, reports and other keys know it: `--config megtrim.yaml#NAME`."""


class NamedToolchain(ToolchainConfig, _ToolchainEntry):
    """One of several compilers. With what the file says of it, it is a configuration of its own."""

    trim: TrimConfig | None = None
    """How far it is trimmed; left out: as `trim` says."""
    baseline: FilePath | None = None
    """Size manifest of a former build by it, which growth is measured against."""


class CpuClass(ConfigSection):
    """A class of CPUs that choose the same kernels."""

    name: Name
    qemu_cpu: EmulatedCpu | None = None
    """CPU that qemu plays for this class, as its -cpu option takes it."""
    runner: HostedRunner | None = None
    """Machine of GitHub's own that runs this class in workflows, for its device of kind local with
    runner: true. Left out: a machine with the labels self-hosted, megtrim and the class's name."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""


ANY_CLASS = CpuClass(name="any", qemu_cpu="max")


class ScenarioConfig(ConfigSection):
    """One way a model is run that must work on the reduced build."""

    name: Name
    application: Name | None = None
    """Application that runs; left out: the engine's target."""
    args: tuple[Argument, ...] = ("--cpu",)
    """Arguments for the program, without the model and without what other keys set.

    For an application: its whole command line, with {model}, {input:NAME}, {outputs}, {threads}
    and {algo_cache} in their places; {{ and }} are braces.
    """
    inputs: dict[InputName, FilePath] = Field(default={})
    """Input name: file with its tensor, for both trace and verification."""
    classes: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """CPU classes to trace and verify for; left out: all."""
    dynamic_shape: StrictBool = False
    """Inputs may have other sizes than in the model file: a batch, a height, a width."""
    threads: Threads = 1
    """Threads that the program may use; a list, such as [1, 4], stands for a scenario with each:
    NAME-threads-1 and NAME-threads-4."""
    environment: Annotated[dict[VariableName, VariableValue], Field(max_length=MOST_VARIABLES)] = (
        Field(default={})
    )
    """Variables of the program's environment, NAME: value, for both trace and verification."""
    fast_run: StrictBool = False
    """Let the engine search for the fastest algorithms first, and run with those."""
    algo_cache: FilePath | None = None
    """Recorded algorithm cache, used as it is: the engine does not search again."""
    timeout_s: TimeoutS = Field(default=600.0, alias="timeout")
    """The longest time that one run may take, such as 10 minutes."""
    tolerance: AbsoluteTolerance | None = None
    """As verify.tolerance, for this scenario; left out: verify.tolerance."""
    relative_tolerance: RelativeTolerance | None = None
    """As verify.relative_tolerance, for this scenario; left out: verify.relative_tolerance."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""

    @property
    def is_command(self) -> bool:
        """Whether args are a program's whole command line."""
        return self.application is not None

    @property
    def allowed(self) -> Tolerance:
        return Tolerance(absolute=self.tolerance or 0.0, relative=self.relative_tolerance or 0.0)

    @property
    def variables(self) -> Variables:
        return tuple(sorted(self.environment.items()))

    @property
    def command(self) -> tuple[str, ...]:
        return self.args if self.application is None else (self.application, *self.args)


class ModelConfig(ConfigSection):
    """A model, and the ways it is run."""

    name: Name
    file: FilePath
    """The dumped model."""
    strip_info: Annotated[FilePaths, Field(min_length=1)] = ()
    """Operator JSON that the engine wrote with the model; left out: read from the model."""
    also: Annotated[FilePaths, Field(min_length=1)] = ()
    """Other dumps of the same model, such as another format; only neighbours run them."""
    scenarios: Items[ScenarioConfig]
    """The ways this model is run, at least one: a list, or a pattern of files with one each."""
    toolchains: Toolchains = ()
    """Toolchains that it is for; left out: all."""


class VerifyConfig(ConfigSection):
    """When a reduced build counts as verified."""

    tolerance: AbsoluteTolerance = 0.0
    """Largest difference of any floating-point number of an output from the plain build's, such as
    1e-5; 0: equal to the last bit. At most 1e9, and less than half of the output's range."""
    relative_tolerance: RelativeTolerance = 0.0
    """This share of the plain build's number is added, below 1, as in numpy.isclose:
    |reduced - plain| <= tolerance + relative_tolerance * |plain|."""
    max_age_s: DurationS = Field(default=14 * DAY_S, alias="max_age")
    """How old a proof may be, such as 14 days."""
    unverified: Literal["warn", "fail"] = "warn"
    """What it means that a device did not verify a scenario, while its last proof is young enough.
    warn: the check stays green. fail: exit status 3, which is red."""


class Config(ConfigSection):
    """megtrim.yaml: what to trim, for which models, and what the result must satisfy."""

    version: Literal[1]
    """Version of the format of this file: 1."""
    engine: EngineConfig
    toolchain: ToolchainConfig = ToolchainConfig()
    toolchains: Annotated[tuple[NamedToolchain, ...], Field(min_length=1)] = ()
    """Several compilers in place of toolchain: each is a configuration of its own."""
    trim: TrimConfig = TrimConfig()
    classes: Annotated[tuple[CpuClass, ...], Field(min_length=1)] = (ANY_CLASS,)
    """CPU classes; left out: one, named any, with every feature that qemu has."""
    devices: Annotated[tuple[DeviceConfig, ...], Field(min_length=1)] = ()
    """Devices; left out: one of kind auto per class."""
    applications: tuple[Application, ...] = ()
    """Programs of the team's own that are trimmed with the engine."""
    models: Items[ModelConfig] = ()
    """Models that the trimmed engine must run: a list, or a pattern of files with one each, such
    as megtrim/models/*.yaml; paths in files of a pattern that begins with ../ are relative to the
    folder that it climbs to. Needed, unless there are scenarios."""
    scenarios: Items[CommandConfig] = ()
    """Commands that must work on the trimmed program, where functions of the plain build are
    trimmed: a list, or a pattern of files as for models."""
    keep_set: FilePath = Path("megtrim/keepset")
    """The folder that a team commits: what is kept, with a file for each scenario. With toolchains,
    each has a folder of its name in it."""
    verify: VerifyConfig = VerifyConfig()
    artifacts: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """Files of the build that are measured; left out: the engine's target if it is run, and all
    applications."""
    budgets: tuple[Budget, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    baseline: FilePath | None = None
    """Size manifest of a former build, which growth is measured against."""
    work: WorkConfig | None = None
    """Count the instructions of each scenario; left out: none are counted."""
    memory: MemoryConfig | None = None
    """Measure the memory of each scenario; left out: it is not measured. `memory: {}` has no
    limits."""
    perf: PerfConfig = PerfConfig()

    @model_validator(mode="after")
    def _fill_in(self) -> Config:
        """Fill in defaults that depend on other keys, so that no reader needs to know them."""
        names = tuple(cpu_class.name for cpu_class in self.classes)
        models = tuple(
            model.model_copy(
                update={
                    "scenarios": tuple(
                        _filled_in(scenario, names, self.verify) for scenario in model.scenarios
                    )
                }
            )
            for model in self.models
        )
        # The model is frozen for everybody else; here it is still being made.
        object.__setattr__(self, "models", models)
        scenarios = tuple(_filled_in(each, names, self.verify) for each in self.scenarios)
        object.__setattr__(self, "scenarios", scenarios)
        if self.engine.is_project:
            object.__setattr__(self, "trim", _trimmed_as_built(self.trim))
            used = tuple(_as_linked(each, self.engine.target) for each in self.applications)
            object.__setattr__(self, "applications", used)
        trims_library = any(each.is_shared for each in self.applications)
        named = self.runs_engine or (trims_library and self.engine.is_project)
        own = (self.engine.target,) if named else ()
        programs = (*own, *(each.name for each in self.applications))
        object.__setattr__(self, "artifacts", self.artifacts or programs)
        object.__setattr__(self, "devices", self.devices or _automatic_devices(names))
        return self

    @property
    def runs_engine(self) -> bool:
        """Whether a scenario runs the engine's own program."""
        return any(each.application is None for each in self.all_runs)

    @property
    def all_runs(self) -> tuple[ScenarioConfig | CommandConfig, ...]:
        of_models = (each for model in self.models for each in model.scenarios)
        return (*of_models, *self.scenarios)

    @property
    def hosted_classes(self) -> frozenset[str]:
        return frozenset(cpu_class.name for cpu_class in self.classes if cpu_class.runner)

    def application(self, name: str | None) -> Application | None:
        return next((each for each in self.applications if each.name == name), None)


def _trimmed_as_built(trim: TrimConfig) -> TrimConfig:
    """Return it as a project without marked kernels is trimmed: by functions of its plain build.

    Nobody lists all uses of a whole program, so by default those that no scenario has still work.
    """
    left_out = {"base": "plain", "level": DEFAULT_LEVEL_OF_CMAKE}
    update = {key: value for key, value in left_out.items() if key not in trim.model_fields_set}
    return trim.model_copy(update=update)


def _as_linked(application: Application, target: str) -> Application:
    if "library" in application.model_fields_set or not is_shared_object(target):
        return application
    return application.model_copy(update={"library": Linkage.SHARED})


_Run = TypeVar("_Run", ScenarioConfig, CommandConfig)


def _filled_in(scenario: _Run, classes: tuple[str, ...], verify: VerifyConfig) -> _Run:
    defaults = {
        "classes": classes,
        "tolerance": verify.tolerance,
        "relative_tolerance": verify.relative_tolerance,
    }
    left_out = {
        key: value for key, value in defaults.items() if getattr(scenario, key) in (None, ())
    }
    return scenario.model_copy(update=left_out)


def _automatic_devices(classes: tuple[str, ...]) -> tuple[DeviceConfig, ...]:
    names = ["auto"] if len(classes) == 1 else [f"auto-{name}" for name in classes]
    return tuple(
        DeviceConfig.model_validate({"name": name, "class": class_})
        for name, class_ in zip(names, classes, strict=True)
    )
