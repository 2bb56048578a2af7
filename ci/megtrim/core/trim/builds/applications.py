"""Which program a scenario runs, what must be next to it, and how the programs are built."""

import platform
from collections.abc import Iterator
from pathlib import Path

from megtrim.core.build_spec import REST_SUFFIX, Linkage, Variant, cmake_value
from megtrim.core.chain.filenames import WORK_FOLDER
from megtrim.core.chain.graph import PLAIN, trims_functions, trims_plain_build
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session, TrimRequest, binary, binary_digest
from megtrim.core.config.scenarios import Scenario, all_scenarios
from megtrim.libs.elf.needed_libraries import list_found_in
from megtrim.libs.util.errors import InputError
from megtrim.places.compile.projects.application import FULL_LTO, ApplicationSpec, expect_possible


def name_of(scenario: Scenario, request: TrimRequest) -> str:
    return scenario.settings.application or request.config.engine.target


def companion_files(name: str, session: Session) -> tuple[str, ...]:
    application = session.config.application(name)
    if application is None or not application.is_shared:
        return ()
    return (session.services.engine.library(Linkage.SHARED, session.services.toolchain).file,)


def holder_of(scenario: Scenario, session: Session) -> str:
    return find_holder(name_of(scenario, session.request), session)


def find_holder(name: str, session: Session) -> str:
    """Return the file with the engine that a program runs: itself, or its shared object."""
    return next(iter(companion_files(name, session)), name)


def users(holder: str, session: Session) -> tuple[str, ...]:
    """Return the programs that scenarios run on a shared object; none for a program."""
    applications = session.config.applications
    return tuple(
        each.name
        for each in applications
        if each.name in _run(session.request) and holder in companion_files(each.name, session)
    )


def program(scenario: Scenario, request: TrimRequest, build: StageFolder) -> Path:
    return binary(build, name_of(scenario, request))


def is_built(name: str, session: Session, task: str) -> bool:
    """The build of an earlier commit may lack a program, or the library next to it."""
    files = session.done[task].files
    return all(f"bin/{file}" in files for file in (name, *companion_files(name, session)))


def digests(scenario: Scenario, session: Session, task: str, label: str) -> dict[str, str]:
    build = session.done[task]
    name = name_of(scenario, session.request)
    found = {label: binary_digest(build, name)}
    rest = f"{find_holder(name, session)}{REST_SUFFIX}"
    for file in (*companion_files(name, session), rest):
        if not file.endswith(REST_SUFFIX) or f"bin/{file}" in build.files:
            found[f"{label} {file}"] = binary_digest(build, file)
    return found


def targets(session: Session) -> tuple[str, ...]:
    config = session.config
    own = {each.name for each in config.applications if each.source is not None}
    wanted = (
        *_engines_own(session.request),
        *config.artifacts,
        *(application.name for application in config.applications),
    )
    libraries = (
        session.services.engine.library(each.library, session.services.toolchain).file
        for each in config.applications
        if each.source is not None or each.is_shared
    )
    return tuple(dict.fromkeys((*(name for name in wanted if name not in own), *libraries)))


def holders(session: Session) -> tuple[str, ...]:
    applications = session.config.applications
    static = (application.name for application in applications if not application.is_shared)
    shared = (file for each in applications for file in companion_files(each.name, session))
    return tuple(dict.fromkeys((*_engines_own(session.request), *static, *shared)))


def linked_again(session: Session) -> tuple[str, ...]:
    """Which functions a file needs that no scenario runs is not known: it stays as it is."""
    applications = session.config.applications
    run = (each.name for each in applications if each.name in _run(session.request))
    own = (find_holder(name, session) for name in run)
    return tuple(dict.fromkeys((*_engines_own(session.request), *own)))


def _run(request: TrimRequest) -> frozenset[str | None]:
    return frozenset(each.settings.application for each in all_scenarios(request.config))


def list_specs(session: Session, variant: Variant) -> tuple[ApplicationSpec, ...]:
    loaded = session.request.loaded
    engine = session.services.engine
    with_lto = bool(lto_flags(session.request, variant))
    specs = []
    for at, application in enumerate(session.config.applications):
        if application.source is None:
            continue
        options = []
        places = []
        for name, value in application.cmake.items():
            options.append((name, cmake_value(value)))
            places.append((name, loaded.describe("applications", at, "cmake", name)))
        spec = ApplicationSpec(
            name=application.name,
            checkout=session.services.applications[application.name],
            library=engine.library(application.library, session.services.toolchain),
            lto=with_lto and application.lto == "full",
            options=tuple(options),
            places=tuple(places),
        )
        specs.append(spec)
    return tuple(specs)


def lto_flags(request: TrimRequest, variant: Variant) -> tuple[str, ...]:
    """Plain and reduced get them alike, so that their sizes tell what trimming brought.

    A trace says what ran, however it was linked: the profile build is spared the memory.
    """
    wanted = any(application.lto == "full" for application in request.config.applications)
    return FULL_LTO if wanted and variant is not Variant.PROFILE else ()


def expect_testable(session: Session) -> None:
    """Raise InputError for tests of a project that is built for another machine."""
    machine = session.services.toolchain.machine
    if session.config.tests is not None and machine != platform.machine():
        where = session.request.loaded.describe("tests")
        msg = f"{where}: found tests of programs for {machine}, expected {platform.machine()}"
        raise InputError(msg, hint="tests run on this machine: toolchain: {kind: host}")


def expect_buildable(session: Session) -> None:
    for each in session.config.applications:
        expect_possible(session.services.toolchain, each.name, each.library, lto=each.lto == "full")
        if each.source is not None or each.is_shared:
            session.services.engine.library(each.library, session.services.toolchain)


def warn_of_libraries(session: Session) -> Iterator[str]:
    config = session.config
    for name in (application.name for application in config.applications):
        for library in companion_files(name, session):
            if library not in config.artifacts:
                yield f"{name} needs {library}, whose size is not measured: name it in `artifacts`"
    if not trims_functions(config):
        return
    trimmed = linked_again(session)
    for name in config.artifacts:
        if name.endswith(".so") and name not in trimmed:
            level = "not trimmed" if trims_plain_build(config) else "trimmed only by regions"
            yield f"{name} is {level}: no scenario runs an application with `library: shared`"


def warn_of_left_behind(session: Session) -> Iterator[str]:
    """A program finds a library of its own build where that was built, and on no other machine."""
    made = session.done.get(PLAIN)
    config = session.config
    if made is None or not config.engine.is_project:
        return
    tree = session.services.store.root / WORK_FOLDER
    for name in config.artifacts:
        beside = companion_files(name, session)
        for library in list_found_in(binary(made, name), tree):
            if library not in beside:
                yield (
                    f"{name} loads {library} from the folder where it was built, and that is not "
                    f"trimmed and not in final/bin: link it into {name}, often by "
                    "BUILD_SHARED_LIBS: false in engine.cmake, or trim it as engine.target"
                )


def _engines_own(request: TrimRequest) -> tuple[str, ...]:
    config = request.config
    return (config.engine.target,) if config.runs_engine else ()
