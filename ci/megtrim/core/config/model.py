"""What megtrim.yaml says, as frozen values; editors show the docstrings of the keys.

Paths are as written. A key is added here only when the product obeys it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import Field, PrivateAttr, StrictBool, model_validator

from megtrim.core.build_spec import MINIMUM_SIZE, Linkage, Relocations, Switch
from megtrim.core.config import kinds
from megtrim.core.config.commands import BuildCommand, CommandConfig
from megtrim.core.config.device import DeviceConfig, HostedRunner
from megtrim.core.config.item_types import AnyItems, Items
from megtrim.core.config.kinds import CMAKE, Base, EngineKind, find_builder, has_models
from megtrim.core.config.limits import Budget, Waiver
from megtrim.core.config.missing import ExportError, RefusalConfig
from megtrim.core.config.own_tests import OwnTestsConfig
from megtrim.core.config.performance import MemoryConfig, PerfConfig, WorkConfig
from megtrim.core.config.size_flags import SizeFlagsConfig
from megtrim.core.config.toolchain import ToolchainConfig
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
    InputName,
    InputSource,
    Name,
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
)
from megtrim.libs.programs.parity import Tolerance
from megtrim.libs.util.environment import MOST_VARIABLES, Variables


class Application(ConfigSection):
    """A program that is trimmed with the engine it is built on."""

    name: Name
    """Name of the program, and of the CMake target that makes it."""
    source: FilePath | None = None
    """Folder with its own CMakeLists.txt. Default: it is a target in the engine's tree."""
    library: Linkage = Field(default=Linkage.STATIC, validate_default=True)
    """static: the engine is linked in. shared: the program uses the engine's shared object. Needs
    source, except for kind cmake, whose default is that of engine.target: shared for a .so."""
    cmake: dict[OptionName, OptionValue] = Field(default={})
    """CMake options of its own CMakeLists.txt: NAME: value, as engine.cmake. Needs source."""
    lto: Literal["none", "full"] = "none"
    """full: link-time optimisation of it and of the engine, except in the profile build."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""

    @property
    def is_shared(self) -> bool:
        return self.library is Linkage.SHARED


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
SHARED_SUFFIX = ".so"
ARCHIVE_SUFFIX = ".a"
GENERATED = "generated"
"""The scenario of a model that has none, at the level operator."""
DEFAULT_TARGET = "load_and_run"
DEFAULT_COMPILER = "cc"
_SHARED = re.compile(r".+\.so(\.[0-9]+)*")


def is_shared_object(target: str) -> bool:
    return _SHARED.fullmatch(target) is not None


class EngineConfig(ConfigSection):
    """The engine that is trimmed."""

    kind: EngineKind
    """megengine: a checkout of MegEngine. sample: the small engine that comes with megtrim.
    cmake: any CMake project, which is built by Ninja. ncnn: the same, with models (.param). link:
    any project that its own commands build; how they link is recorded."""
    source: FilePath | None = None
    """Folder of the source; the sample engine brings its own."""
    target: Name = DEFAULT_TARGET
    """Program that is built, trimmed, and run. Needed for cmake, ncnn, link: a program, or a
    library by its file's name, such as libzstd.so or libzstd.a, which `applications` use; for link
    by the name that programs load it by, such as libz.so.1."""
    cmake: dict[OptionName, OptionValue] = Field(default={})
    """Further CMake options: NAME: value; true and false become ON and OFF."""
    folder: FilePath | None = None
    """cmake, ncnn: folder of its CMakeLists.txt in source, such as build/cmake. Default: source."""
    include: Annotated[FilePaths, Field(min_length=1)] = ()
    """cmake, ncnn: folders in source with the headers that applications include; left out: include,
    if there is such a folder, or else source."""
    build: Annotated[tuple[BuildCommand, ...], Field(min_length=1)] = ()
    """link: the commands that build it, each a list of words, such as [[./configure], [make, -j4]].
    They run one after the other, without a shell, in a copy of source."""
    compiler: CompilerName = DEFAULT_COMPILER
    """link: the compiler that links the target, by its name, such as aarch64-linux-gnu-gcc."""

    @property
    def is_project(self) -> bool:
        """Whether it is any project that builds so: its kernels have no marks."""
        return find_builder(self.kind) != ""

    @property
    def has_models(self) -> bool:
        return has_models(self.kind)


class SwitchesConfig(ConfigSection):
    """Switches of the engine for the reduced build. Default: minimum_size decides."""

    rtti: StrictBool | None = None
    """false: without C++ type information, which some releases never have."""
    logging: StrictBool | None = None
    """false: without log lines."""
    exceptions: StrictBool | None = None
    """false: every error of the engine is a trap without a message."""
    flatbuffers: StrictBool | None = None
    """false: without the readers of models that are flatbuffers; refused if a model needs them."""


class TrimConfig(ConfigSection):
    """How far the engine is trimmed."""

    level: Literal["operator", "region", "function", "deferred", "blocks"] = "region"
    """operator: operators and data types that no model has are left out, and all kernels of the
    others stay; nothing is run before the build. region: kernels that no scenario runs are not
    compiled. function: functions that no scenario ran are left out at link time as well, which
    makes the program much smaller, but also more brittle. deferred: these functions move into a
    second file, from which the program loads them when it needs them; this is the default for kinds
    cmake, ncnn and link. blocks: so do parts of functions that ran; with base: plain, clang 22."""
    operators: Literal["listed", "all"] = "listed"
    """listed: operators and data types that no model has are left out. all: only traces decide."""
    caches: Literal["each", "joined"] = "each"
    """each: a scenario with fast_run has an algorithm cache of its own. joined: what the searches
    of a CPU class found is joined into one cache, with which all its scenarios that search are
    traced, verified and released, as an application with several models needs it."""
    base: Base = "region"
    """The build that trimming functions starts from; region may be spelt reduced. With plain,
    nothing is profiled, and regions stay; this is the default for kinds cmake, ncnn and link."""
    keep: tuple[Pattern, ...] = ()
    """Functions to keep in any case: shell patterns for names, or folders such as src/log/."""
    exports: tuple[Export, ...] = Field(default=(), min_length=1)
    """The names that shared objects still export: names, shell patterns, and @applications, which
    stands for everything that their applications import. Default: everything that the engine
    exports."""
    crash_ids: StrictBool = False
    """true: each function and region that is left out has its own trap, so that a crash in the
    field names it exactly (megtrim explain --crash). This takes some bytes for each."""
    on_missing: Literal["trap", "error"] = "trap"
    """What a call does that needs a function that was left out. trap: it ends the program. error:
    in shared objects, the call returns an error, as errors says; needs level: function."""
    errors: tuple[ExportError, ...] = Field(default=(), min_length=1)
    """With on_missing: error, what exports return. The first row that names an export decides."""
    refusals: tuple[RefusalConfig, ...] = Field(default=(), min_length=1)
    """With on_missing: error, functions by which the library itself refuses, such as my::fail."""
    layout: Literal["scoped", "upstream"] = "scoped"
    """scoped: a source file sees only the regions of its own tags. upstream: every file sees all
    regions."""
    minimum_size: StrictBool = True
    """Build the reduced variant with the engine's minimum-size switch: no RTTI, no log, no
    exceptions."""
    switches: SwitchesConfig = SwitchesConfig()
    prices: StrictBool = False
    """true: sizes.json and the verdict contain the price of each model, which takes a few more
    links."""
    optimize: Literal["none", "size"] = "none"
    """none: only the compiler flags of the documented recipe. size: all size optimisations that the
    toolchain and the switches allow."""
    means: SizeFlagsConfig = SizeFlagsConfig()
    relocations: Relocations | None = None
    """How relocations are packed. android: for ndk, from API level 23 on. relr: for ndk, from API
    level 30 on, or for clang-linux-arm64, from glibc 2.36 on. Default: none; for ndk, optimize:
    size may pack those of the reduced build."""

    @property
    def trims_functions(self) -> bool:
        return self.level in kinds.FUNCTION_LEVELS

    @property
    def keeps_kernels(self) -> bool:
        """Whether no region is left out: by operators alone."""
        return self.level == "operator"


class _ToolchainEntry(ConfigSection):
    """What one of several toolchains is called."""

    name: ToolchainName
    """The name that --config, reports and other keys use for it: `--config megtrim.yaml#NAME`."""


class NamedToolchain(ToolchainConfig, _ToolchainEntry):
    """One of several compilers. Each makes a separate configuration."""

    trim: TrimConfig | None = None
    """How far it is trimmed. Default: the section `trim` of the file."""
    baseline: FilePath | None = None
    """The sizes.json of an earlier build by this compiler, against which growth is measured."""


class CpuClass(ConfigSection):
    """A class of CPUs that choose the same kernels."""

    name: Name
    qemu_cpu: EmulatedCpu | None = None
    """CPU that qemu emulates for this class, as its -cpu option takes it."""
    runner: HostedRunner | None = None
    """GitHub's own machine that runs this class in workflows, for its device of kind local with
    runner: true. Default: a machine with the labels self-hosted, megtrim and the class's name."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""


ANY_CLASS = CpuClass(name="any", qemu_cpu="max")


class ScenarioConfig(ConfigSection):
    """One way a model is run that must work on the reduced build."""

    name: Name
    application: Name | None = None
    """Application that runs. Default: the engine's target."""
    args: tuple[Argument, ...] = ("--cpu",)
    """Arguments for the program, without the model and without what other keys set.

    For an application: its whole command line, with {model}, {input:NAME}, {outputs}, {threads}
    and {algo_cache} in their places; {{ and }} are braces.
    """
    inputs: dict[InputName, InputSource] = Field(default={})
    """Input name: file with its tensor, for both trace and verification; or its values: a number, a
    list, or #rand(MIN, MAX) in quotes, which is random in the shape that the model has, and the
    same each time."""
    classes: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """CPU classes to trace and verify for. Default: all."""
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
    """Like verify.tolerance, but for this scenario. Default: verify.tolerance."""
    relative_tolerance: RelativeTolerance | None = None
    """Like verify.relative_tolerance, but for this scenario. Default: verify.relative_tolerance."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""

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
    """Operator JSON that the engine wrote with the model. Default: operators are read from the
    model."""
    also: Annotated[FilePaths, Field(min_length=1)] = ()
    """Other dumps of the same model, such as another format; only neighbours run them."""
    scenarios: AnyItems[ScenarioConfig] = ()
    """The ways this model is run: a list, or a pattern of files with one each. At least one, except
    for level operator: a model without scenarios gets one there, `generated`, with made inputs."""
    toolchains: Toolchains = ()
    """Toolchains that it applies to. Default: all."""


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
    """What happens if no device verified a scenario, but its last proof is recent enough. warn: the
    check stays green. fail: exit status 3, which is red."""


class Config(ConfigSection):
    """megtrim.yaml: what to trim, for which models, and what the result must satisfy."""

    version: Literal[1]
    """Version of the format of this file: 1."""
    engine: EngineConfig
    toolchain: ToolchainConfig = ToolchainConfig()
    toolchains: Annotated[tuple[NamedToolchain, ...], Field(min_length=1)] = ()
    """Several compilers, instead of toolchain. Each of them makes a separate configuration."""
    trim: TrimConfig = TrimConfig()
    classes: Annotated[tuple[CpuClass, ...], Field(min_length=1)] = (ANY_CLASS,)
    """CPU classes. Default: one class named any, with every feature that qemu has."""
    devices: Annotated[tuple[DeviceConfig, ...], Field(min_length=1)] = ()
    """Devices. Default: one of kind auto per class."""
    applications: tuple[Application, ...] = ()
    """Your own programs that are trimmed together with the engine."""
    models: Items[ModelConfig] = ()
    """Models that the trimmed engine must run: either a list, or a pattern of files with one model
    each, such as megtrim/models/*.yaml. If the pattern begins with ../, paths in these files are
    relative to the folder to which it climbs. Needed, unless there are scenarios."""
    scenarios: Items[CommandConfig] = ()
    """Commands that must work on the trimmed program, for functions that are trimmed from the plain
    build: a list, or a pattern of files as for models."""
    keep_set: FilePath = Path("megtrim/keepset")
    """The folder that you commit. It lists the code to keep, in a file for each scenario. With
    toolchains, it has a folder for each of them."""
    verify: VerifyConfig = VerifyConfig()
    artifacts: Annotated[tuple[Name, ...], Field(min_length=1)] = ()
    """Files of the build that are measured. Default: the engine's target if it is run, and all
    applications."""
    budgets: tuple[Budget, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    baseline: FilePath | None = None
    """The sizes.json of an earlier build, against which growth is measured."""
    work: WorkConfig | None = None
    """Count the instructions of each scenario. Default: they are not counted."""
    memory: MemoryConfig | None = None
    """Measure the memory of each scenario. Default: it is not measured. `memory: {}` sets no
    limits."""
    perf: PerfConfig = PerfConfig()
    tests: OwnTestsConfig | None = None
    """cmake, link: the project's own tests, as a check of what is trimmed. Default: they do not
    run."""
    _idle: Mapping[str, str] = PrivateAttr(default={})

    @model_validator(mode="after")
    def _fill_in(self) -> Config:
        """Fill in defaults that depend on other keys, so that no reader needs to know them."""
        names = tuple(cpu_class.name for cpu_class in self.classes)
        made = (ScenarioConfig(name=GENERATED),) if self.trim.level == "operator" else ()
        models = tuple(
            model.model_copy(
                update={
                    "scenarios": tuple(
                        _filled_in(scenario, names, self.verify)
                        for scenario in model.scenarios or made
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
        if find_builder(self.engine.kind) == CMAKE:
            object.__setattr__(self, "toolchain", _built_as_usual(self.toolchain))
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

    @property
    def idle(self) -> Mapping[str, str]:
        """Ids of scenarios that megtrim added and that cannot run here, each with the reason."""
        return self._idle

    def leave_out(self, idle: Mapping[str, str]) -> Config:
        copy = self.model_copy()
        copy._idle = idle
        return copy

    def application(self, name: str | None) -> Application | None:
        return next((each for each in self.applications if each.name == name), None)


def _trimmed_as_built(trim: TrimConfig) -> TrimConfig:
    """Return it as a project without marked kernels is trimmed: by functions of its plain build.

    Nobody lists all uses of a whole program, so by default those that no scenario has still work.
    """
    left_out = {"base": "plain", "level": kinds.DEFAULT_LEVEL}
    update = {key: value for key, value in left_out.items() if key not in trim.model_fields_set}
    return trim.model_copy(update=update)


def _built_as_usual(toolchain: ToolchainConfig) -> ToolchainConfig:
    """Return it as people build a project who choose no compiler: for their own machine."""
    if toolchain.model_fields_set & {"kind", "prefer"}:
        return toolchain
    return toolchain.model_copy(update={"kind": "host"})


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
