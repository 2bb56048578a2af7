"""What the stages `build` and `reduce` share: one variant, built and recorded."""

import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.core.build_spec import (
    BuildRecord,
    BuildSpec,
    LinkSpec,
    Switch,
    Variant,
)
from megtrim.core.chain.filenames import WORK_FOLDER
from megtrim.core.chain.graph import HEADER, splits_functions
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Services, Session, TaskResults
from megtrim.core.config.model import OPTIONS, switched_off, switched_on
from megtrim.core.trim.builds import applications, size_options
from megtrim.core.trim.builds.switches import is_minimum_size, switch_options
from megtrim.libs.elf.block_map import MAP_FLAG
from megtrim.libs.elf.layout import WITH_BUILD_ID
from megtrim.places.compile.projects.cmake.driver import is_build_tree
from megtrim.places.compile.projects.tested import SuiteFolder

_INCLUDE = "include/"


def make_spec(session: Session, variant: Variant, header: Mapping[str, str]) -> BuildSpec:
    loaded = session.request.loaded
    config = loaded.config
    without = switched_off(config.trim)
    made = session.services.engine.make_spec(
        variant,
        session.services.toolchain,
        targets=applications.targets(session),
        minimum_size=is_minimum_size(without),
        header=header,
    )
    lto = applications.lto_flags(session.request, variant)
    mapped = (MAP_FLAG,) if splits_functions(config) else ()
    made = replace(
        made,
        compile_flags=(*made.compile_flags, *lto, *mapped),
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
    named = {
        "engine": identity.digest,
        "targets": " ".join(wanted.targets),
        "options": shlex.join(f"{name}={value}" for name, value in wanted.options),
        "engine compile flags": " ".join(wanted.compile_flags),
        "engine link flags": " ".join(wanted.link_flags),
    }
    for label, value in toolchain.items():
        named[f"toolchain {label}"] = value
    for spec in applications.list_specs(session, wanted.variant):
        options = [f"{name}={value}" for name, value in spec.options]
        lto = "lto" if spec.lto else ""
        words = (spec.checkout.digest, spec.library.file, lto, *options)
        named[f"application {spec.name}"] = shlex.join(words)
    # Only what means beyond the recipe bring: other keys stay what they were.
    if wanted.folder:
        named["folder"] = wanted.folder
    for number, words in enumerate(wanted.commands):
        named[f"command {number}"] = shlex.join(words)
    if wanted.own_link_flags:
        named["engine's own link flags"] = " ".join(wanted.own_link_flags)
    if wanted.source_options is not None:
        source_options = shlex.join(wanted.source_options.words)
        if source_options:
            named["engine source options"] = source_options
    return named


def way_of(wanted: BuildSpec) -> str:
    if wanted.script is None and wanted.folder is not None:
        return "CMake and Ninja"
    if wanted.commands:
        return "; ".join(shlex.join(words) for words in wanted.commands)
    if wanted.script is None:
        return "a direct CMake call: the engine's own script is used only for Android"
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
    return inputs(session, wanted) | header_inputs(session.done[HEADER])


def work(session: Session, wanted: BuildSpec, folder: Path) -> BuildRecord:
    services = session.services
    services.console.say(f"  by {way_of(wanted)}")
    with _tree(services, wanted.variant) as tree:
        return services.builder.build(
            wanted,
            work=tree,
            folder=folder,
            progress=services.console.progress(f"building {wanted.variant}"),
            applications=applications.list_specs(session, wanted.variant),
        )


def link(session: Session, wanted: BuildSpec, links: tuple[LinkSpec, ...], folder: Path) -> None:
    with _tree(session.services, wanted.variant) as tree:
        session.services.builder.link(
            wanted,
            links,
            work=tree,
            folder=folder,
            progress=session.console.progress(f"linking {wanted.variant}"),
            applications=applications.list_specs(session, wanted.variant),
        )


def expect_linkable(session: Session, wanted: BuildSpec, folder: Path) -> None:
    with _tree(session.services, wanted.variant) as tree:
        session.services.builder.expect_linkable(
            wanted,
            applications.linked_again(session),
            work=tree,
            folder=folder,
            applications=applications.list_specs(session, wanted.variant),
        )


@contextmanager
def open_tests(
    session: Session, wanted: BuildSpec, target: str, folder: Path
) -> Iterator[SuiteFolder]:
    """Give out where the project's own tests run; nobody else builds there meanwhile."""
    with _tree(session.services, wanted.variant) as tree:
        yield session.services.builder.open_tests(
            wanted,
            target,
            work=tree,
            folder=folder,
            progress=session.console.progress("building tests"),
            applications=applications.list_specs(session, wanted.variant),
        )


@contextmanager
def _tree(services: Services, what: str) -> Iterator[Path]:
    kind = services.engine.identity().kind
    toolchain = services.toolchain
    name = f"{kind}-{toolchain.kind}-{toolchain.machine}-{what}"
    with services.store.lock(f"{WORK_FOLDER}-{name}"):
        yield services.store.claim(f"{WORK_FOLDER}/{name}", is_former=is_build_tree)
