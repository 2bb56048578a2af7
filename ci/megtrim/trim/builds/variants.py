"""What the stages `build` and `reduce` share: one variant, built and recorded."""

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.build.engines.checkout import Checkout
from megtrim.build_spec import (
    MINIMUM_SIZE,
    BuildRecord,
    BuildSpec,
    LinkSpec,
    Switch,
    Toolchain,
    Variant,
)
from megtrim.chain.graph import HEADER
from megtrim.chain.session import Services, Session, TaskResults, TrimRequest
from megtrim.chain.store import StageFolder
from megtrim.config.model import OPTIONS, switched_off, switched_on
from megtrim.elf.layout import WITH_BUILD_ID
from megtrim.models.reader import read_is_flatbuffers
from megtrim.trim.builds import programs, size_options
from megtrim.util.errors import InputError

_INCLUDE = "include/"
_KEEPS_RTTI = "x86_64"
_LARGEST_BYTES = 2**20
_TRUE = ("1", "ON", "TRUE", "YES", "Y")
_DROPS_RTTI = re.compile(
    r"^\s{0,99}if\s{0,9}\(([^()]{1,500})\)\s{0,99}set\s{0,9}\(\s{0,9}MGE_ENABLE_RTTI\s{1,9}OFF\b",
    re.MULTILINE,
)


def make_spec(session: Session, variant: Variant, header: Mapping[str, str]) -> BuildSpec:
    loaded = session.request.loaded
    config = loaded.config
    without = switched_off(config.trim)
    made = session.services.engine.make_spec(
        variant,
        session.services.toolchain,
        targets=programs.targets(session),
        minimum_size=is_minimum_size(without),
        header=header,
    )
    lto = programs.lto_flags(session.request, variant)
    made = replace(
        made,
        compile_flags=(*made.compile_flags, *lto),
        link_flags=tuple(dict.fromkeys((*made.link_flags, *lto))),
    )
    if variant is Variant.REDUCED:
        made = replace(made, link_flags=(*made.link_flags, WITH_BUILD_ID))
        options = switch_options(without, switched_on(config.trim))
        asked = {OPTIONS[each]: ("trim", "switches", each) for each in Switch}
        places = {name: loaded.describe(*asked[name]) for name in options}
        made = size_options.apply_flags(session, made.with_options(options, places))
    cmake = config.engine.cmake
    return made.with_options(
        cmake, {name: loaded.describe("engine", "cmake", name) for name in cmake}
    )


def inputs(session: Session, wanted: BuildSpec) -> dict[str, str]:
    identity = session.services.engine.identity()
    toolchain = session.services.toolchain.identity()
    beyond = {"engine's own link flags": " ".join(wanted.own_link_flags)}
    if wanted.source_options is not None:
        beyond["engine source options"] = shlex.join(wanted.source_options.words)
    return {
        "engine": identity.digest,
        "targets": " ".join(wanted.targets),
        "options": shlex.join(f"{name}={value}" for name, value in wanted.options),
        "engine compile flags": " ".join(wanted.compile_flags),
        "engine link flags": " ".join(wanted.link_flags),
        **{f"toolchain {label}": value for label, value in toolchain.items()},
        **{
            f"application {spec.name}": shlex.join(
                (
                    *(spec.checkout.digest, spec.library.file, "lto" if spec.lto else ""),
                    *(f"{name}={value}" for name, value in spec.options),
                )
            )
            for spec in programs.list_specs(session, wanted.variant)
        },
        # Only what means beyond the recipe bring: other keys stay what they were.
        **{label: value for label, value in beyond.items() if value},
    }


def way_of(wanted: BuildSpec) -> str:
    if wanted.script is None:
        return "a direct CMake call: the engine's own script is used for Android alone"
    return f"{' '.join((wanted.script.path, *wanted.script.arguments))}: {wanted.script.why}"


def header_files(results: TaskResults) -> dict[str, str]:
    folder = results.done[HEADER]
    return {
        name.removeprefix(_INCLUDE): folder.file(name).read_text(encoding="utf-8")
        for name in folder.files
        if name.startswith(_INCLUDE)
    }


def header_inputs(made: StageFolder) -> dict[str, str]:
    return {
        f"header {name.removeprefix(_INCLUDE)}": digest
        for name, digest in made.files.items()
        if name.startswith(_INCLUDE)
    }


def region_inputs(session: Session) -> dict[str, str]:
    wanted = make_spec(session, Variant.REDUCED, header_files(session.results))
    return inputs(session, wanted) | header_inputs(session.results.done[HEADER])


def work(session: Session, wanted: BuildSpec, folder: Path) -> BuildRecord:
    services = session.services
    services.console.say(f"  by {way_of(wanted)}")
    with _tree(services, wanted.variant) as tree:
        return services.builder.build(
            wanted,
            work=tree,
            folder=folder,
            progress=services.console.progress(f"building {wanted.variant}"),
            applications=programs.list_specs(session, wanted.variant),
        )


def link(session: Session, wanted: BuildSpec, links: tuple[LinkSpec, ...], folder: Path) -> None:
    with _tree(session.services, wanted.variant) as tree:
        session.services.builder.link(
            wanted,
            links,
            work=tree,
            folder=folder,
            progress=session.services.console.progress(f"linking {wanted.variant}"),
            applications=programs.list_specs(session, wanted.variant),
        )


def expect_linkable(session: Session, wanted: BuildSpec, folder: Path) -> None:
    with _tree(session.services, wanted.variant) as tree:
        session.services.builder.expect_linkable(
            wanted,
            programs.linked_again(session.request),
            work=tree,
            folder=folder,
            applications=programs.list_specs(session, wanted.variant),
        )


@contextmanager
def _tree(services: Services, what: str) -> Iterator[Path]:
    kind, toolchain = services.engine.identity().kind, services.toolchain
    name = f"{kind}-{toolchain.kind}-{toolchain.machine}-{what}"
    with services.store.lock(f"work-{name}"):
        yield services.store.root / "work" / name


def expect_switchable(session: Session) -> None:
    said = dict(_locate_switches(session.request, (True, False)))
    engine = session.services.engine
    for switch, where in said.items():
        if switch not in engine.switches:
            msg = f"{where}: the engine at {engine.checkout.root} has no option {OPTIONS[switch]}"
            raise InputError(msg, hint=f"switches that it has: {', '.join(engine.switches)}")
    if session.request.config.trim.switches.rtti:
        spec = make_spec(session, Variant.PLAIN, {})
        why = forced_off(Switch.RTTI, engine.checkout, session.services.toolchain, spec)
        if why:
            msg = f"{said[Switch.RTTI]}: found true, but it is {why}"
            raise InputError(msg, hint="leave it out")
    without = dict(_locate_switches(session.request, (False,))).get(Switch.FLATBUFFERS)
    if without is not None:
        _refuse_flatbuffers_models(without, session)


def _locate_switches(
    request: TrimRequest, values: tuple[bool, ...]
) -> Iterator[tuple[Switch, str]]:
    """Yield each switch that is set to one of ``values``, and where."""
    loaded = request.loaded
    trim = loaded.config.trim
    for switch in Switch:
        if getattr(trim.switches, switch) in values:
            yield switch, loaded.describe("trim", "switches", switch)


def _refuse_flatbuffers_models(where: str, session: Session) -> None:
    for model in session.request.config.models:
        path = session.request.path(model.file)
        if read_is_flatbuffers(path):
            msg = f"{where}: the model {model.name} ({model.file}) is FlatBuffers"
            hint = "no build without FlatBuffers can load it: leave this switch on"
            raise InputError(msg, hint=hint)
        session.services.console.warn(
            f"{where}: {model.file} is in a format that megtrim cannot read; "
            "its scenarios will show whether it loads without FlatBuffers"
        )


def is_minimum_size(off: Iterable[Switch]) -> bool:
    return set(off) >= set(MINIMUM_SIZE)


def switch_options(off: Sequence[Switch], on: Sequence[Switch] = ()) -> dict[str, bool]:
    minimum = is_minimum_size(off)
    without = {OPTIONS[each]: False for each in off if not (minimum and each in MINIMUM_SIZE)}
    return {OPTIONS[each]: True for each in on} | without


def forced_off(switch: Switch, checkout: Checkout, toolchain: Toolchain, spec: BuildSpec) -> str:
    values = {name: value.upper() for name, value in spec.options}
    tests = values.get("MGE_WITH_TEST") in _TRUE
    release = values.get("CMAKE_BUILD_TYPE") == "RELEASE" and not tests
    affected = switch is Switch.RTTI and toolchain.machine != _KEEPS_RTTI and release
    if not affected:
        return ""
    conditions = _DROPS_RTTI.findall(checkout.text("CMakeLists.txt", most_bytes=_LARGEST_BYTES))
    if not any('"Release"' in each and f'"{_KEEPS_RTTI}"' in each for each in conditions):
        return ""
    return f"always off in this engine's Release build for {toolchain.machine}"
