"""``megtrim init``: a starter configuration with inputs, and the workflows that call the kit."""

from collections.abc import Callable
from pathlib import Path

from megtrim.core.checks.invocation import Invocation
from megtrim.core.cli.echo import open_console, show
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session.callers import CallerPlan, CallerRequest
from megtrim.core.cli.session.project_starter import plan_project
from megtrim.core.cli.session.starter import StarterFiles, plan_models, plan_starter, write_files
from megtrim.core.parts import find_parts, load
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.process import ProcessRunner

PlanCallers = Callable[[CallerRequest, ProcessRunner], CallerPlan]


def init(
    words: tuple[str, ...],
    config: Path,
    engine: Path | None,
    cmake: Path | None,
    target: str,
    github: bool,
    release: bool,
    gitlab: bool,
    upgrade: bool,
    kit: str,
    kit_version: str,
    kit_sha: str,
    branch: str | None,
    record: bool,
    add: bool,
) -> None:
    _expect_one_source(cmake=cmake, record=record, target=target, add=add, engine=engine)
    models = tuple(map(Path, words))
    _expect_compatible(github=github, gitlab=gitlab, release=release, upgrade=upgrade)
    if add and engine:
        msg = "--add leaves the configuration as it is: leave out --engine"
        raise InputError(msg)
    new = StarterFiles(files={}, lines=())
    if cmake is not None:
        new = plan_project(cmake, target, words, config)
    elif record:
        new = _record(words, config, engine or Path(), target)
    elif models or not (github or gitlab):
        new = plan_models(models, config) if add else plan_starter(models, config, engine)
    plan = CallerPlan()
    if github or gitlab:
        asked = CallerRequest(
            config=config,
            toolchain=new.toolchain,
            github=github,
            release=release,
            upgrade=upgrade,
            kit=kit,
            kit_version=kit_version,
            kit_sha=kit_sha,
            branch=branch,
        )
        plan_callers: PlanCallers = load(find_parts().callers, "workflows")
        plan = plan_callers(asked, open_processes())
    write_files({**new.files, **plan.new})
    for path, text in plan.changed.items():
        write_atomically(path, text)
    for line in (*new.lines, *plan.lines):
        show(line)
    show(f"next: {Invocation(config=str(config)).again('trim')}")
    if plan.check:
        show(f'then commit, and require the check "{plan.check}"')


def _expect_one_source(
    *, cmake: Path | None, record: bool, target: str, add: bool, engine: Path | None
) -> None:
    if target and cmake is None and not record:
        msg = "--target names the program of a project, so it needs --cmake or --record"
        raise InputError(msg)
    if cmake is not None and (add or engine or record):
        msg = "--cmake already names the project to trim: leave out --engine, --record and --add"
        raise InputError(msg)
    if record and add:
        msg = "--add adds models, and --record builds a project: leave one of them out"
        raise InputError(msg)


def _record(words: tuple[str, ...], config: Path, source: Path, target: str) -> StarterFiles:
    from megtrim.core.cli.session.recorded_starter import (
        RecordRequest,
        plan_recorded,
        split_commands,
    )

    asked = RecordRequest(
        commands=split_commands(words), source=source, target=target, config=config
    )
    progress = open_console().progress("building")
    return plan_recorded(asked, open_processes().for_builds(), progress)


def _expect_compatible(*, github: bool, gitlab: bool, release: bool, upgrade: bool) -> None:
    if github and gitlab:
        msg = "--github and --gitlab cannot be combined"
        raise InputError(msg, hint="run it for each")
    if (release or upgrade) and not github:
        msg = f"--{'release' if release else 'upgrade'} configures workflows, so it needs --github"
        raise InputError(msg)
