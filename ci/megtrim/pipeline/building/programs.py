"""Which program a scenario runs, what must lie beside it, and how the programs are built.

The engine's own target, or an application of the team's: everything that runs, weighs or binds
a program asks here.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from megtrim.build_spec import Linkage, Variant
from megtrim.config.application import Application
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.engines.application import FULL_LTO, ApplicationSpec, expect_possible
from megtrim.errors import InputError
from megtrim.pipeline.session import Context, binary, binary_digest
from megtrim.plan.graph import trims_plain_build
from megtrim.store import StageFolder


def name_of(scenario: Scenario, context: Context) -> str:
    """Return the name of the program that the scenario runs."""
    return scenario.settings.application or context.loaded.config.engine.target


def companion_files(name: str, context: Context) -> tuple[str, ...]:
    """Return the names of the files that must lie beside a program: its shared objects."""
    application = context.loaded.config.application(name)
    if application is None or not application.is_shared:
        return ()
    return (context.engine.library(Linkage.SHARED, context.toolchain).file,)


def program(scenario: Scenario, context: Context, build: StageFolder) -> Path:
    """Return the scenario's program as a build left it."""
    return binary(build, name_of(scenario, context))


def digests(scenario: Scenario, context: Context, task: str, label: str) -> dict[str, str]:
    """Name the scenario's program and what lies beside it, as the task built them."""
    build, name = context.done[task], name_of(scenario, context)
    files = {
        f"{label} {each}": binary_digest(build, each) for each in companion_files(name, context)
    }
    return {label: binary_digest(build, name), **files}


def targets(context: Context) -> tuple[str, ...]:
    """Return what of the engine's tree is built: programs, artifacts, and libraries to link."""
    config = context.loaded.config
    own = {each.name for each in config.applications if each.source is not None}
    wanted = (
        *_engines_own(context),
        *config.artifacts,
        *(each.name for each in config.applications),
    )
    libraries = (
        context.engine.library(each.library, context.toolchain).file
        for each in _with_source(context)
    )
    return tuple(dict.fromkeys((*(name for name in wanted if name not in own), *libraries)))


def holders(context: Context) -> tuple[str, ...]:
    """Return the built files that hold the engine's regions: programs, and shared objects."""
    applications = context.loaded.config.applications
    static = (each.name for each in applications if not each.is_shared)
    shared = (file for each in applications for file in companion_files(each.name, context))
    return tuple(dict.fromkeys((*_engines_own(context), *static, *shared)))


def linked_again(context: Context) -> tuple[str, ...]:
    """Return the programs whose functions are trimmed: those that hold the engine themselves.

    Of one that no scenario runs nobody knows which functions it needs: it stays as it is.
    """
    config = context.loaded.config
    run = {each.settings.application for each in all_scenarios(config)}
    own = (each.name for each in config.applications if not each.is_shared and each.name in run)
    return (*_engines_own(context), *own)


def list_specs(context: Context, variant: Variant) -> tuple[ApplicationSpec, ...]:
    """Return the applications to be built in a variant, behind the engine."""
    return tuple(
        ApplicationSpec(
            name=each.name,
            checkout=context.applications[each.name],
            library=context.engine.library(each.library, context.toolchain),
            lto=bool(lto_flags(context, variant)) and each.lto == "full",
        )
        for each in _with_source(context)
    )


def lto_flags(context: Context, variant: Variant) -> tuple[str, ...]:
    """Return the engine's further flags where an application asks for optimisation at link time.

    Plain and reduced get them alike, so that their sizes tell what trimming brought. A trace says
    what ran, however it was linked: the profile build is spared the hour and the memory.
    """
    wanted = any(each.lto == "full" for each in context.loaded.config.applications)
    return FULL_LTO if wanted and variant is not Variant.PROFILE else ()


def expect_buildable(context: Context) -> None:
    """Refuse applications that this toolchain or this engine cannot make. Raises InputError."""
    for each in context.loaded.config.applications:
        library = each.library if each.source is not None else Linkage.STATIC
        expect_possible(context.toolchain, each.name, library, lto=each.lto == "full")
        if each.source is not None:
            context.engine.library(library, context.toolchain)


def expect_trimmable(context: Context) -> None:
    """Refuse a scenario of which nothing would be recorded. Raises InputError naming its line."""
    loaded = context.loaded
    if not trims_plain_build(loaded.config):
        return
    known = linked_again(context)
    for each in all_scenarios(loaded.config):
        if name_of(each, context) not in known:
            where = f"{loaded.path}:{loaded.line(*each.path)}"
            msg = f"{where}: {each.id} runs a program with the engine in a shared object"
            hint = "trim.base: plain trims programs that hold the engine: use base: reduced"
            raise InputError(msg, hint=hint)


def warn_unweighed(context: Context) -> Iterator[str]:
    """Yield a warning for each program whose shared object no one weighs."""
    config = context.loaded.config
    for name in (each.name for each in config.applications):
        for library in companion_files(name, context):
            if library not in config.artifacts:
                yield f"{name} needs {library}, whose size is not weighed: name it in `artifacts`"


def _with_source(context: Context) -> Iterator[Application]:
    return (each for each in context.loaded.config.applications if each.source is not None)


def _engines_own(context: Context) -> tuple[str, ...]:
    """Return the name of the engine's own program, nothing where no scenario runs it."""
    config = context.loaded.config
    return (config.engine.target,) if config.runs_engine else ()
