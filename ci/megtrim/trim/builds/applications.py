"""Which program a scenario runs, what must be next to it, and how the programs are built."""

from collections.abc import Iterator
from pathlib import Path

from megtrim.build.engines.application import FULL_LTO, ApplicationSpec, expect_possible
from megtrim.build_spec import Linkage, Variant, cmake_value
from megtrim.chain.graph import trims_plain_build
from megtrim.chain.result_store import StageFolder
from megtrim.chain.session import Session, TrimRequest, binary, binary_digest
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.util.errors import InputError


def name_of(scenario: Scenario, request: TrimRequest) -> str:
    return scenario.settings.application or request.config.engine.target


def companion_files(name: str, session: Session) -> tuple[str, ...]:
    application = session.request.config.application(name)
    if application is None or not application.is_shared:
        return ()
    return (session.services.engine.library(Linkage.SHARED, session.services.toolchain).file,)


def program(scenario: Scenario, request: TrimRequest, build: StageFolder) -> Path:
    return binary(build, name_of(scenario, request))


def digests(scenario: Scenario, session: Session, task: str, label: str) -> dict[str, str]:
    build, name = session.results.done[task], name_of(scenario, session.request)
    files = {
        f"{label} {file}": binary_digest(build, file) for file in companion_files(name, session)
    }
    return {label: binary_digest(build, name), **files}


def targets(session: Session) -> tuple[str, ...]:
    config = session.request.config
    own = {each.name for each in config.applications if each.source is not None}
    wanted = (
        *_engines_own(session.request),
        *config.artifacts,
        *(application.name for application in config.applications),
    )
    libraries = (
        session.services.engine.library(each.library, session.services.toolchain).file
        for each in config.applications
        if each.source is not None
    )
    return tuple(dict.fromkeys((*(name for name in wanted if name not in own), *libraries)))


def holders(session: Session) -> tuple[str, ...]:
    applications = session.request.config.applications
    static = (application.name for application in applications if not application.is_shared)
    shared = (file for each in applications for file in companion_files(each.name, session))
    return tuple(dict.fromkeys((*_engines_own(session.request), *static, *shared)))


def linked_again(request: TrimRequest) -> tuple[str, ...]:
    """Which functions a program needs that no scenario runs is not known: it stays as it is."""
    config = request.config
    run = {scenario.settings.application for scenario in all_scenarios(config)}
    own = (each.name for each in config.applications if not each.is_shared and each.name in run)
    return (*_engines_own(request), *own)


def list_specs(session: Session, variant: Variant) -> tuple[ApplicationSpec, ...]:
    loaded = session.request.loaded
    return tuple(
        ApplicationSpec(
            name=each.name,
            checkout=session.services.applications[each.name],
            library=session.services.engine.library(each.library, session.services.toolchain),
            lto=bool(lto_flags(session.request, variant)) and each.lto == "full",
            options=tuple((name, cmake_value(value)) for name, value in each.cmake.items()),
            places=tuple(
                (name, loaded.describe("applications", at, "cmake", name)) for name in each.cmake
            ),
        )
        for at, each in enumerate(session.request.config.applications)
        if each.source is not None
    )


def lto_flags(request: TrimRequest, variant: Variant) -> tuple[str, ...]:
    """Plain and reduced get them alike, so that their sizes tell what trimming brought.

    A trace says what ran, however it was linked: the profile build is spared the memory.
    """
    wanted = any(application.lto == "full" for application in request.config.applications)
    return FULL_LTO if wanted and variant is not Variant.PROFILE else ()


def expect_buildable(session: Session) -> None:
    for each in session.request.config.applications:
        library = each.library if each.source is not None else Linkage.STATIC
        expect_possible(session.services.toolchain, each.name, library, lto=each.lto == "full")
        if each.source is not None:
            session.services.engine.library(library, session.services.toolchain)


def expect_trimmable(request: TrimRequest) -> None:
    loaded = request.loaded
    if not trims_plain_build(loaded.config):
        return
    known = linked_again(request)
    for scenario in all_scenarios(loaded.config):
        if name_of(scenario, request) not in known:
            where = loaded.where(*scenario.path)
            msg = f"{where}: {scenario.id} runs a program with the engine in a shared object"
            hint = "trim.base: plain trims programs that hold the engine: use base: reduced"
            raise InputError(msg, hint=hint)


def warn_unweighed(session: Session) -> Iterator[str]:
    config = session.request.config
    for name in (application.name for application in config.applications):
        for library in companion_files(name, session):
            if library not in config.artifacts:
                yield f"{name} needs {library}, whose size is not measured: name it in `artifacts`"


def _engines_own(request: TrimRequest) -> tuple[str, ...]:
    config = request.config
    return (config.engine.target,) if config.runs_engine else ()
