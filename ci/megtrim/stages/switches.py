"""Stage `switches`: what each of the engine's switches buys, by reduced builds of one keep set.

A build for each switch that is off alone, one with all on, one with all off, and the table of
them. They are measured, not run. One that does not compile is reported in the table and fails
nothing: whether the engine can do without a switch alone was the question.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from megtrim.build_spec import BuildSpec, Variant
from megtrim.engines import switches
from megtrim.errors import ProductFailure
from megtrim.pipeline.building import variants
from megtrim.pipeline.result_content import content_of
from megtrim.pipeline.results import ReduceResult, SwitchBuildResult, SwitchTableResult
from megtrim.pipeline.session import Services, Session, TrimRequest
from megtrim.plan.graph import SWITCHES, Task, switch_task
from megtrim.plan.switches import ALL_ON, SwitchBuild, list_measured_builds
from megtrim.store import StageFolder
from megtrim.verdict.trim_summary import SwitchSize

_PURPOSE = "switches"


def inputs(task: Task, session: Session) -> dict[str, str]:
    """Name what enters a build, as for the reduced one; for the table, the builds."""
    if task.id == SWITCHES:
        builds = {need: content_of(session.results.done[need]) for need in task.needs}
        return builds | {"artifacts": " ".join(session.request.config.artifacts)}
    build = _find_build(task, session.request)
    wanted = _make_spec(build, session)
    why = _impossible(build, wanted, session.services)
    if why:
        return {"cannot be built": why}
    return variants.inputs(session, wanted) | variants.header_inputs(session.results)


def result_type(task: Task) -> type[SwitchTableResult | SwitchBuildResult]:
    """Return the type of what :func:`work` finds."""
    return SwitchTableResult if task.id == SWITCHES else SwitchBuildResult


def work(task: Task, session: Session, folder: Path) -> SwitchTableResult | SwitchBuildResult:
    """Build and weigh, or put the table together."""
    if task.id == SWITCHES:
        return SwitchTableResult(rows=tuple(_rows(session)))
    build = _find_build(task, session.request)
    wanted = _make_spec(build, session)
    why = _impossible(build, wanted, session.services)
    if why:
        return SwitchBuildResult(build=None, note=why)
    try:
        built = variants.work(session, wanted, folder, purpose=_PURPOSE)
    except ProductFailure as failure:
        session.services.console.warn(f"{task.id}: {failure}")
        note = f"not built: {failure.title}"
        return SwitchBuildResult(build=None, note=note)
    return SwitchBuildResult(build=built, note="")


def _find_build(task: Task, request: TrimRequest) -> SwitchBuild:
    return next(each for each in list_measured_builds(request.config) if each.name == task.name)


def _make_spec(build: SwitchBuild, session: Session) -> BuildSpec:
    header = variants.header_files(session.results)
    return variants.make_spec(session, Variant.REDUCED, header, off=build.off)


def _impossible(build: SwitchBuild, spec: BuildSpec, services: Services) -> str:
    """Return why a switch that is off alone differs in nothing from all on; empty where it does."""
    if len(build.off) != 1:
        return ""
    return switches.forced_off(build.off[0], services.engine.checkout, services.toolchain, spec)


def _rows(session: Session) -> Iterator[SwitchSize]:
    """Yield a row for each artifact and build; bytes are saved against all on."""
    config = session.request.config
    results = {
        build: _as_switch_build(session.results.done[switch_task(build, config)])
        for build in list_measured_builds(config)
    }
    base = next(result for build, result in results.items() if build.name == ALL_ON).artifacts
    for artifact in config.artifacts:
        for build, result in results.items():
            size, all_on = result.artifacts.get(artifact), base.get(artifact)
            saved = share = None
            if size is not None and all_on is not None:
                saved, share = all_on - size, (all_on - size) / all_on
            yield SwitchSize(
                artifact=artifact,
                build=build.name,
                off=tuple(str(each) for each in build.off),
                size_bytes=size,
                saved_bytes=saved,
                saved_share=share,
                note=result.note,
            )


def _as_switch_build(folder: StageFolder) -> SwitchBuildResult:
    """Return what a measured build found; the last of them may be the reduced one."""
    if isinstance(folder.result, ReduceResult):
        return SwitchBuildResult(build=folder.result.build, note="")
    return folder.result_as(SwitchBuildResult)
