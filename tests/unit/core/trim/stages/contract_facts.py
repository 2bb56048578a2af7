"""The facts that a run can have, and for each the tasks that rest on it.

A task's key must change with each fact that it depends on, and with no other. Tasks are named by
patterns; those that a way to trim does not have are of no account there.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

from megtrim.core.build_spec import Linkage, Origin, Relocations, SourceOptions, Switch, Variant
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.invocation import Invocation
from megtrim.core.config.commands import CommandConfig
from megtrim.core.config.missing import ExportError, RefusalConfig
from megtrim.core.config.own_tests import OwnTestsConfig
from megtrim.core.config.units import GrowthLimit
from megtrim.core.trim.results import UnfoldedLinksResult
from megtrim.engines.load_and_run import dialects
from megtrim.libs.util.errors import InfrastructureFailure
from unit.core.trim.stages.contract_world import BASES, UNVERIFIED, World
from unit.core.trim.stages.fake_device import FakeDevice

ALL = tuple(BASES)
TRIMS_ALONE = tuple(name for name in ALL if name != "times")
FUNCTION = ("function", "brought functions", "committed functions")
PLAIN = ("plain", "quick")
REGION = ("region", "committed", "brought", "unverified")
WITH_BASELINE = tuple(name for name in ALL if name != "quick")
WAIVED = tuple(name for name in ALL if name != "unverified")
COMMITTED = ("committed", "committed functions")
TRACED = tuple(name for name in ALL if name not in COMMITTED)
JUDGED = tuple(name for name in TRACED if name != "quick")
_WITH_PROFILE = tuple(name for name in ALL if name not in (*PLAIN, *COMMITTED))
HERE = tuple(name for name in TRACED if not name.startswith("brought"))
BUILDS = "build/* reduce/* functions/linked"
TRIMS = "reduce/* functions/linked"
LINKS = "reduce/reduced reduce/named"
VERDICT = " verdict/verdict"
KEPT = " header/keepset functions/keepset"
VIEWS = " ".join(
    f"{stage}/m/view@any*" for stage in ("profile", "functions", "verify", "perf", "count")
)
ENGINES = ("m/s@*", "m/tuned@any", "m/cached@any", "n/s@any")
_KEYS_OF_A_DEVICE = (
    "name",
    "kind",
    "sysroot",
    "runner",
    "serial",
    "match",
    "host",
    "port",
    "user",
    "key",
    "known_hosts",
    "power",
    "cool_down",
    "governor",
    "cpus",
)
_S = "models.0.scenarios.0"
_APP = "models.0.scenarios.2"
TIES: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "classes.name",
            "devices.class_",
            "applications.name",
            "models.name",
            "models.scenarios.name",
        ),
        "a name by which parts of the file refer to each other: another is another plan",
    ),
    **dict.fromkeys(
        (f"scenarios.{name}" for name in CommandConfig.model_fields),
        "of a command, which no model stands next to here: tests/unit/core/trim/test_commands.py",
    ),
    "trim.caches": "where several scenarios search: tests/unit/core/trim/stages/test_joined.py",
    **dict.fromkeys(
        ("engine.folder", "engine.include"),
        "of a project of kind cmake: tests/unit/engines/test_cmake.py",
    ),
    **dict.fromkeys(
        (f"tests.{name}" for name in OwnTestsConfig.model_fields),
        "of a project's own tests: tests/integration/test_own_tests.py",
    ),
    **dict.fromkeys(
        (f"trim.errors.{name}" for name in ExportError.model_fields),
        "of trim.on_missing: error: tests/integration/test_missing_errors.py",
    ),
    **dict.fromkeys(
        (f"trim.refusals.{name}" for name in RefusalConfig.model_fields),
        "of trim.on_missing: error: tests/integration/test_missing_errors.py",
    ),
    **dict.fromkeys(
        ("engine.build", "engine.compiler"),
        "of a project of kind link: tests/unit/engines/test_link.py",
    ),
    **{f"devices.power.{name}": "part of devices.power" for name in ("hub", "port")},
    **{
        f"devices.cool_down.{name}": "part of devices.cool_down" for name in ("below_c", "within_s")
    },
}
"""Keys that cannot be changed alone, and why."""
_SMALL = SourceOptions(options=("-Os",), fast=(), outside=())
_SHOWN = "verify/*@big neighbours/*@big count/*@big"
_PROVEN = f"profile/*@big {_SHOWN}"
_RECORDED = "functions/m/tuned@any"
_TRACED = "profile/m/tuned@any"
_LATER = date(2027, 2, 3)
_OTHER_BOARD = DeviceIdentity(name="other", kind="adb", facts={})
NO_FACTS: Mapping[str, str] = {
    "toolchain": "see TOOLCHAIN",
    "builder": "does what it is ordered",
    "store": "holds results",
    "console": "says what is done",
    "durations": "remembers how long tasks took",
    "make": "makes tasks",
    "neighbours": "asks for tasks of their own",
    "options": "is a value of all options",
    "private": "shortens what a failed task says, which is named as it is then",
    "made_of": "binds a pass to its files after the chain",
    "uncommitted": "decides on the next step, which is named as it reads",
    "committed_keep_set": "decides on the next step, which is named as it reads",
    "remembers": "finds a baseline, which is named by its bytes",
    "timed": "what counts of it is named by its bytes: tests/unit/times/test_stage.py",
    "done": "see LEFT",
}
"""Fields of a session that no key depends on, and why."""
OPTIONS_ELSEWHERE = frozenset(
    (
        "config",
        "out",
        "engine",
        "jobs",
        "device",
        "image",
        "no_docker",
        "recompile",
        "reuse",
        "traces",
        "base",
        "base_name",
        "against",
        "quiet",
        "as_json",
        "again",
        "form",
        "scenario",
        "accept",
        "reached",
        "kept",
        "of_release",
        "of_releases",
        "records",
        "require_baseline",
    )
)
"""Options that are no facts: what is opened by them is, or they say which tasks run; accepting
writes the committed file, once the keep set is made; what was reached is in ``trim.keep``."""
_TOOLCHAIN: Mapping[str, Any] = {
    "kind": "zig",
    "target": "arm",
    "version": "clang 15",
    "compile_flags": ("-g",),
    "link_flags": ("-g",),
    "settings": (),
    "fp16": False,
    "files": "g",
    "image": "j",
}
PLACES: Mapping[str, str] = dict.fromkeys(
    (
        "c_compiler",
        "cxx_compiler",
        "strip",
        "archiver",
        "ranlib",
        "archive",
        "host_cxx",
        "sysroot",
        "ndk",
        "includes",
    ),
    "says where programs and files are; version, target, files and image say which",
) | {
    **dict.fromkeys(("machine", "abi", "api"), "part of target"),
    "page_bytes": "decides on link flags",
    "first_link": "says what is done meanwhile",
    "compiler_check": "how ccache knows the compiler, which changes no object",
}
"""Fields of a toolchain that no key depends on, and why."""
_TRIMMED = (*FUNCTION, *PLAIN)
FOUND = "found: {}"


@dataclass(frozen=True, kw_only=True)
class Fact:
    name: str
    change: Callable[[World], World]
    rest: str
    """Patterns of the tasks whose keys change with it."""
    where: tuple[str, ...] = tuple(BASES)
    """The ways to trim that have it."""
    traced: str = ""
    """Patterns of what depends on it as well, unless the keep set is a committed one."""


def runs(*scenarios: str) -> str:
    stages = ("profile", "functions", "verify", "neighbours", "count")
    proofs = (f"{stage}/{scenario}" for stage in stages for scenario in scenarios)
    return " ".join((*proofs, times("*", *scenarios)))


def times(subject: str, *scenarios: str) -> str:
    return " ".join(f"perf/{scenario}#{subject}" for scenario in scenarios)


_DECIDED = f"{times('record-1', *ENGINES)} {times('trimming-*', '*')}"


def key(
    path: str, value: Any, rest: str = "", where: tuple[str, ...] = ALL, *, traced: str = ""
) -> Fact:
    return Fact(
        name=path,
        change=lambda world: world.configured(path, value),
        rest=rest + VERDICT,
        where=where,
        traced=traced,
    )


_ON_BIG = runs("*@big")
_RUNS_OF_S = runs("m/s@*").replace(times("*", "m/s@*"), "")


CONFIG: tuple[Fact, ...] = (
    key("version", 2),
    key("engine.kind", "megengine"),
    key("engine.source", Path("elsewhere")),
    key("engine.target", "other", f"{BUILDS} {runs(*ENGINES)} profile/*#search", HERE),
    key("engine.cmake", {"MGE_WITH_EXAMPLE": False}, BUILDS),
    *(
        key(f"toolchain.{name}", value)
        for name, value in (
            ("kind", "ndk"),
            ("ndk", "r21e"),
            ("abi", "arm64-v8a"),
            ("api", 30),
            ("fp16", True),
            ("clang", 16),
            ("pages", "4 KiB"),
            ("stl", "c++_static"),
            ("image", "other"),
            ("jobs", 3),
            ("prefer", "zig"),
        )
    ),
    key(
        "trim.level",
        "function",
        "reduce/reduced verify/* neighbours/* size/artifacts references/base",
        ("region",),
    ),
    key(
        "trim.base",
        "plain",
        "functions/* reduce/reduced reduce/named neighbours/* size/artifacts",
        ("function",),
    ),
    key("trim.keep", ("a*",), LINKS, (*FUNCTION, *PLAIN)),
    key("trim.exports", ("a*",), f"functions/linked {LINKS}", (*FUNCTION, *PLAIN)),
    key("trim.on_missing", "error", f"header/keepset {LINKS}", FUNCTION),
    key("trim.on_missing", "error", LINKS, PLAIN),
    key("trim.crash_ids", True, "header/keepset", ("region",)),
    key("trim.crash_ids", True, f"header/keepset {LINKS}", ("function",)),
    key("trim.crash_ids", True, LINKS, PLAIN),
    key("trim.operators", "all", "header/keepset"),
    key("trim.layout", "upstream", "header/keepset"),
    key("trim.minimum_size", False, "reduce/reduced", ("region",)),
    key("trim.minimum_size", False, "reduce/* functions/linked functions/*/*", ("function",)),
    *(
        key(f"trim.switches.{switch}", value, "reduce/reduced", ("unverified",))
        for switch in Switch
        for value in (True, False)
    ),
    key("trim.prices", True, "size/artifacts"),
    key("trim.optimize", "size", TRIMS, REGION),
    key("trim.means.unwind_tables", True, LINKS, ("function",)),
    key("trim.means.small_code", "none", TRIMS, ("function",)),
    key("trim.means.lto", "none", TRIMS, ("function",)),
    key("trim.means.fold", "none", TRIMS, ("function",)),
    key("trim.means.virtual_functions", True, "", ("function",)),
    key("trim.means.fold", "all", LINKS, PLAIN),
    key("trim.relocations", Relocations.RELR),
    key("classes.1.qemu_cpu", "cortex-a53"),
    key("classes.1.runner", "ubuntu-24.04-arm"),
    *(key(f"devices.0.{name}", "another") for name in _KEYS_OF_A_DEVICE),
    key("applications.0.source", None, BUILDS),
    key("applications.1.library", Linkage.STATIC, f"{BUILDS} {VIEWS}"),
    key("applications.0.cmake", {"WITH_CAMERA": False}, BUILDS),
    key("applications.0.lto", "full", f"build/plain {TRIMS}"),
    key("models.0.file", Path("another-m.mge"), runs("m/*"), traced=KEPT),
    key(
        "models.0.strip_info",
        (Path("another-m.json"), Path("other/m.json")),
        traced="header/keepset",
    ),
    key("models.0.strip_info", (Path("m.json"), Path("another-m.json")), traced="header/keepset"),
    key("models.0.also", (Path("another-m.v2.mge"),), "neighbours/m/*"),
    key(f"{_APP}.application", "viewer", runs("m/app@*") + " functions/linked", traced=KEPT),
    key(f"{_S}.args", ("--cpu", "--iter", "3"), runs("m/s@*"), traced=KEPT),
    key(f"{_S}.inputs", {"data": Path("another-d.npy")}, runs("m/s@*"), traced=KEPT),
    # An application may read it; load_and_run's command, which a contest names, cannot.
    key(f"{_S}.inputs", {"data": Path("d.raw")}, runs("m/s@*"), TRIMS_ALONE),
    key(f"{_S}.classes", ("any",), "header/keepset size/artifacts", traced=KEPT),
    key(f"{_S}.threads", 4, runs("m/s@*"), traced=KEPT),
    key(f"{_S}.environment", {"MALLOC_ARENA_MAX": "1"}, runs("m/s@*"), traced=KEPT),
    key(f"{_S}.fast_run", True, f"{_RUNS_OF_S} {times('trimming-*', 'm/s@*')}" + KEPT, TRACED),
    key(
        "models.0.scenarios.1.algo_cache", Path("another-a.cache"), runs("m/cached@*"), traced=KEPT
    ),
    key(f"{_S}.timeout_s", 91.0, runs("m/s@*")),
    key(f"{_S}.dynamic_shape", True),
    key("baseline", Path("copy-of-sizes.json"), "size/artifacts", WITH_BASELINE),
    key("models.1.scenarios.0.args", ("--cpu", "--iter", "3"), runs("n/s@*"), traced=KEPT),
    key("models.1.scenarios.0.threads", 4, runs("n/s@*"), traced=KEPT),
    key("keep_set", Path("another-keepset"), KEPT, COMMITTED),
    key("verify.tolerance", 0.5),
    key("verify.relative_tolerance", 0.5),
    *(
        key(
            f"{_S}.{name}",
            0.5,
            f"verify/m/s@* neighbours/m/s@* {times('record-1', 'm/s@*')} "
            + times("trimming-*", "m/s@*"),
        )
        for name in ("tolerance", "relative_tolerance")
    ),
    key("verify.max_age_s", 86_400.0),
    key("verify.unverified", "fail"),
    key("artifacts", ("load_and_run",), "size/artifacts"),
    key("artifacts", ("load_and_run", "classify", "other"), f"{BUILDS} size/artifacts"),
    key("budgets.1.artifact", "viewer", "size/artifacts"),
    # It has the profile build made where nothing else needs it: that explains neighbours' traps.
    key("budgets.1.variant", Variant.PLAIN, "size/artifacts neighbours/*", (*PLAIN, *COMMITTED)),
    key("budgets.1.variant", Variant.PLAIN, "size/artifacts", _WITH_PROFILE),
    *(
        key(f"budgets.0.{name}", value, "size/artifacts")
        for name, value in {
            "size": "loaded",
            "section": ".text",
            "component": "runtime",
            "model": "m",
            "max_size": GrowthLimit(size_bytes=7),
            "warn": GrowthLimit(size_bytes=5),
            "growth": GrowthLimit(size_bytes=7),
            "warn_growth": GrowthLimit(size_bytes=5),
            "ratchet": GrowthLimit(size_bytes=5),
            "owner": "they",
        }.items()
    ),
    *(
        key(f"waivers.0.{name}", value, "size/artifacts", WAIVED)
        for name, value in {
            "budget": "classify",
            "extra_bytes": 7,
            "reason": "another",
            "owner": "they",
            "expires": date(2027, 3, 1),
        }.items()
    ),
    key("baseline", Path("another-sizes.json"), "size/artifacts", WITH_BASELINE),
    key("work.growth", 0.5, "size/artifacts"),
    key("work", None, "build/plain count/* size/artifacts"),
    key("memory", None, "count/* size/artifacts"),
    key("work.inconclusive", "warn", "size/artifacts"),
    key("memory.inconclusive", "warn", "size/artifacts"),
    key("memory.max_bytes", 7, "size/artifacts"),
    key("memory.growth", GrowthLimit(size_bytes=7), "size/artifacts"),
    # What is measured is another plan: what was measured already stays.
    key("perf.experiments", ("record-1",)),
    key("perf.recipes", ("x86",)),
    key("perf.scenarios", ("m/s",)),
    key("perf.classes", ("any",)),
    key("perf.trimming", False),
    key("perf.budget.rounds", 12, _DECIDED),
    key("perf.budget.time_s", 60.0, f"{_DECIDED} {times('baseline', '*')}"),
    key("perf.threshold", 0.5, _DECIDED),
    key("perf.floor_ms", 0.5, _DECIDED),
    key("perf.other_load", 0.25, f"{_DECIDED} {times('baseline', '*')}"),
    key("perf.history.folder", Path("history")),
    key("perf.history.branch", "history"),
    key("perf.inconclusive", "warn"),
)


def having(
    name: str, rest: str, change: Callable[[World], World], where: tuple[str, ...] = ALL
) -> Fact:
    return Fact(name=name, change=change, rest=rest, where=where)


def around(rest: str, where: tuple[str, ...] = ALL, **change: Any) -> Fact:
    [name] = change
    return having(name, rest, lambda world: world.having(**change), where)


def _baseline(name: str) -> Callable[[World], World]:
    return lambda world: world.having(baseline=world.session.request.path(Path(name)))


def _loaded(**changes: Any) -> Callable[[World], World]:
    return lambda world: world.having(loaded=replace(world.session.request.loaded, **changes))


def _written_otherwise(world: World) -> World:
    document = replace(world.session.request.loaded.document, sha256="another")
    return _loaded(document=document)(world)


def _moved(world: World) -> World:
    folder = world.session.request.loaded.folder
    other = folder.with_name(f"moved {folder.name}")
    if not other.exists():
        other.symlink_to(folder)
    return _loaded(folder=other)(world)


def _device(cpu_class: str = "big", **facts: Any) -> Callable[[World], World]:
    def change(world: World) -> World:
        return world.having(devices={**world.session.services.devices, cpu_class: Other(**facts)})

    return change


class Other(FakeDevice):
    def __init__(self, *, identity: str = "fake", **facts: Any) -> None:
        super().__init__(**{"name": "emulated", **facts})
        self._identity = identity

    def identity(self) -> dict[str, str]:
        return {"kind": self._identity}


def _brought(field_: str, rest: str, where: tuple[str, ...], **changes: Any) -> Fact:
    def change(world: World) -> World:
        every = getattr(world.session.request, field_)
        given = every["m/tuned@any"]
        evidence = replace(given.evidence, device=changes.get("device", given.device))
        row = {name: value for name, value in changes.items() if name != "device"}
        changed = replace(given, evidence=evidence, result=replace(given.result, **row))
        return world.having(**{field_: {**every, "m/tuned@any": changed}})

    return having(field_, rest, change, where)


def _failed(message: str, *attempts: str) -> Callable[[World], World]:
    failure = InfrastructureFailure(message, attempts=attempts)
    return lambda world: world.having(failed={UNVERIFIED: failure})


def _application(name: str) -> Callable[[World], World]:
    def change(world: World) -> World:
        every = world.session.services.applications
        other = replace(every[name], files={"a.cpp": "b"})
        return world.having(applications={**every, name: other})

    return change


def _engine(rest: str, where: tuple[str, ...] = ALL, **facts: Any) -> Fact:
    [name] = facts
    return having(f"engine.{name}", rest, lambda world: world.engine(**facts), where)


def edited(file: str, rest: str, *, traced: str = "", where: tuple[str, ...] = ALL) -> Fact:
    return Fact(
        name=f"bytes of {file}",
        change=lambda world: world.edited(file),
        rest=rest,
        traced=traced,
        where=where,
    )


EDITED: tuple[Fact, ...] = (
    edited("m.mge", runs("m/*"), traced=KEPT),
    edited("d.npy", runs("m/s@*"), traced=KEPT),
    edited("a.cache", runs("m/cached@*"), traced=KEPT),
    edited("m.json", "", traced="header/keepset"),
    edited("other/m.json", "", traced="header/keepset"),
    edited("m.v2.mge", "neighbours/m/*"),
    edited("sizes.json", "size/artifacts", where=WITH_BASELINE),
    edited("megtrim/keepset/m/s@any.json", KEPT, where=COMMITTED),
    edited("megtrim/keepset/m/s@any.json", VERDICT, where=JUDGED),
)


def _patched(name: str, value: Any, rest: str, where: tuple[str, ...] = ALL) -> Fact:
    return having(name, rest, lambda world: world.patched(**{f"megtrim.{name}": value}), where)


VERSIONS: tuple[Fact, ...] = (
    _patched("core.trim.runs.tracing.FORM", "0", "functions/*/*"),
    _patched("core.proof.stage.code_digest", lambda: "0", "verify/*"),
    _patched("times.counts.stage.find_timer", lambda _: ("another",), "count/*"),
    _patched(
        "core.verdict.stage.list_retrained", lambda _: ("other weights",), VERDICT, TRIMS_ALONE
    ),
    _patched("times.stage.METHOD", "0", "perf/*"),
)
"""What two versions of megtrim tell each other, beyond the digest of their code in every key."""


AROUND: tuple[Fact, ...] = (
    _brought("recorded", _RECORDED, ("brought functions",), device=_OTHER_BOARD),
    having("loaded.document", VERDICT, _written_otherwise),
    having("loaded.path", VERDICT, _loaded(path=Path("other.yaml"))),
    having("loaded.folder", "", _moved),
    around(f"size/artifacts {VERDICT}", origin=Origin(project="fork")),
    _engine(BUILDS + VERDICT, digest="another"),
    _engine(VERDICT, commit="another"),
    _engine(VERDICT, dirty=("a.cpp",)),
    _engine(KEPT, TRACED, generation=20220101),
    _engine(f"{LINKS} functions/linked", (*FUNCTION, *PLAIN), kept=("b*",)),
    _engine(TRIMS, ("function",), kernels=("src/other",)),
    _engine("header/keepset", elemwise_modes=(("ADD", 1),)),
    _engine("header/keepset", scopes="others"),
    _engine("neighbours/*", ("brought",), dialect=dialects.SDK),
    _engine(f"{BUILDS} {VIEWS}", library={"file": "other"}),
    *(
        _engine(BUILDS, spec=spec)
        for spec in (
            {"options": (("A", "B"),)},
            {"compile_flags": ("-g",)},
            {"link_flags": ("-g",)},
            {"own_link_flags": ("-g",)},
        )
    ),
    _engine(BUILDS, (*REGION, *PLAIN), spec={"source_options": _SMALL}),
    having("devices.identity", _ON_BIG, _device(identity="other"), (*HERE, *COMMITTED)),
    having("devices.identity", _SHOWN, _device(identity="other"), ("brought",)),
    having("devices.identity", _PROVEN, _device(identity="other"), ("brought functions",)),
    around("count/*", emulators={name: FakeDevice(kind="other") for name in ("any", "big")}),
    having("devices.facts", VERDICT, _device(reported={"model": "Pixel 7"})),
    having("devices.facts", VERDICT, _device("any", name="here", reported={"model": "Pixel 7"})),
    having(
        "devices.facts",
        "count/*@any" + VERDICT,
        _device("any", name="here", kind="local", reported={"CPU model": "another"}),
        TRIMS_ALONE,
    ),
    having("devices.name", VERDICT, _device(name="other")),
    having("devices.kind", VERDICT, _device(kind="other")),
    having(
        "devices.probed",
        "functions/linked" + VERDICT,
        lambda world: world.having(
            devices={name: Other(kind="qemu") for name in world.session.services.devices}
        ),
        (*PLAIN, "function"),
    ),
    around(VERDICT, taken={"reduce/reduced"}),
    around("size/artifacts" + VERDICT, ("region", "function", "committed"), today=_LATER),
    around(VERDICT, ("unverified",), today=_LATER),
    around("header/keepset verify/*" + VERDICT, ("committed",), committed=False),
    around("size/artifacts" + VERDICT, ("quick",), quick=False),
    having("baseline", "size/artifacts", _baseline("another-sizes.json")),
    having("baseline", "size/artifacts", _baseline("gone.json")),
    around(VERDICT, invocation=Invocation(device="other")),
    around(VERDICT, base="main at 1a2b3c4d5e6f"),
    around(VERDICT, final="elsewhere"),
    *(having("applications", BUILDS, _application(name)) for name in ("classify", "viewer")),
    _brought("traced", _TRACED, ("brought",), trace="9" * 64),
    _brought("traced", f"{_TRACED}#search", ("brought",), cache="9" * 64),
    _brought("traced", f"{_TRACED} {_TRACED}#search", ("brought",), device=_OTHER_BOARD),
    _brought("recorded", _RECORDED, ("brought functions",), functions="9" * 64),
    having("failed", VERDICT, _failed("another"), ("unverified",)),
    having("failed", VERDICT, _failed("no phone", "another"), ("unverified",)),
)


def _tool(name: str, value: Any) -> Fact:
    def change(world: World) -> World:
        return world.having(toolchain=replace(world.session.services.toolchain, **{name: value}))

    traced = "header/keepset functions/keepset" if name in ("kind", "target") else ""
    return Fact(name=name, change=change, rest=BUILDS + VERDICT, where=ALL, traced=traced)


TOOLCHAIN: tuple[Fact, ...] = tuple(_tool(name, value) for name, value in _TOOLCHAIN.items())


def _link(program: str, rest: str, where: tuple[str, ...]) -> Fact:
    def change(world: World) -> World:
        links = world.session.done["functions/linked"].result_as(UnfoldedLinksResult).links
        return world.found("functions/linked", links={**links, program: "another"})

    return having(
        f"link of {program}",
        f"functions/keepset references/base {LINKS} {rest}" + VERDICT,
        change,
        where,
    )


IDENTITIES: tuple[Fact, ...] = (
    _link("load_and_run", " ".join(f"functions/{each}" for each in ENGINES), _TRIMMED),
    _link("classify", "functions/m/app@any", _TRIMMED),
    _link("libsample_engine.so", "functions/m/view@any", _TRIMMED),
    *(_link(name, "", _TRIMMED) for name in ("viewer", "other")),
)


class Left(NamedTuple):
    task: str
    file: str
    """Pattern of its files, and of :data:`FOUND` with the fields of its result."""
    rest: str
    where: tuple[str, ...] = ALL


def _programs() -> Iterator[Left]:
    users = {
        "load_and_run": ENGINES,
        "classify": ("m/app@any",),
        "viewer": ("m/view@any",),
        "libsample_engine.so": ("m/view@any",),
    }
    for program, scenarios in users.items():
        verified = " ".join(
            f"{stage}/{each}" for stage in ("verify", "neighbours", "count") for each in scenarios
        )
        timed = times("*", *scenarios)
        compared = times("trimming-*", *scenarios)
        traced = " ".join(f"profile/{each}" for each in scenarios)
        recorded = " ".join(f"functions/{each}" for each in scenarios)
        yield Left("build/plain", f"bin/{program}", f"{verified} {timed}")
        yield Left("reduce/reduced", f"bin/{program}", f"{verified} {compared}")
        shown = " ".join(f"neighbours/{each}" for each in scenarios)
        yield Left("build/profile", f"bin/{program}", f"{traced} {shown}")
        yield Left("functions/linked", f"links/*/{program}", recorded, where=HERE)
        reported = f"links/*/{program}.observables"
        yield Left("functions/linked", reported, recorded, where=HERE)
    for build in ("build/*", "reduce/re*"):
        for artifact in ("load_and_run", "classify"):
            yield Left(build, f"bin/{artifact}", "size/artifacts")


LEFT: tuple[Left, ...] = (
    *_programs(),
    Left("build/plain", "unstripped/*", " ".join(f"count/{each}" for each in ENGINES)),
    Left("count/*", FOUND.format("*"), "size/artifacts"),
    Left("build/plain", "bin/load_and_run", "profile/*#search"),
    Left("build/plain", "bin/load_and_run", "profile/m/tuned@any", where=("brought",)),
    Left("build/profile", "bin/load_and_run", "profile/*#search", where=("brought",)),
    Left("reduce/region", "bin/load_and_run", "neighbours/*"),
    Left("build/plain", "*", LINKS, where=PLAIN),
    Left("reduce/region", "*", LINKS),
    Left("profile/*", "trace.txt", "header/keepset"),
    Left(
        "profile/*",
        "algo.cache",
        "functions/m/tuned@any verify/m/tuned@any neighbours/m/tuned@any count/m/tuned@any"
        f" {times('trimming-*', 'm/tuned@any')}" + KEPT,
    ),
    Left("profile/*", "algo.cache", "profile/m/tuned@any", where=(*HERE, "brought functions")),
    Left("header/keepset", "include/*", TRIMS),
    Left("header/keepset", "keepset.json", "verify/* neighbours/* size/artifacts", where=REGION),
    Left("header/keepset", "keepset.json", "functions/keepset"),
    Left(
        "functions/linked",
        FOUND.format("links"),
        f"functions/keepset {LINKS}"
        + "".join(f" functions/{each}" for each in (*ENGINES, "m/app@any", "m/view@any")),
    ),
    Left("functions/keepset", "keepset.json", f"{LINKS} verify/* neighbours/* size/artifacts"),
    Left("functions/*/*", "functions.txt", "functions/keepset"),
    Left("reduce/reduced", "*", "references/shipped"),
    Left("build/plain", "*", "references/base", where=(*REGION, "times")),
    Left("build/plain", "*", "references/plain"),
    Left("functions/linked", "*", "references/base"),
    Left("build/profile", "*", "references/profile"),
    Left("verdict/verdict", "verdict.json", "report/report"),
)
