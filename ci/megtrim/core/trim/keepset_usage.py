"""What was kept and for whom, as a verdict shows it, and how far the engine was trimmed."""

from collections import Counter
from collections.abc import Mapping
from itertools import groupby

from megtrim.core.build_spec import MINIMUM_SIZE
from megtrim.core.chain.filenames import KEEP_SET_FILE, REGIONS_FILE
from megtrim.core.chain.graph import (
    HEADER,
    PROFILE,
    REDUCED,
    REGION,
    Task,
    trace_task,
    trims_plain_build,
)
from megtrim.core.chain.session import Session, TaskResults
from megtrim.core.config.model import switched_off
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.keep.region import Region
from megtrim.core.trim.builds import size_options
from megtrim.core.trim.results import (
    FunctionsUse,
    OperatorsUse,
    OperatorUse,
    Rebuild,
    ReduceResult,
    RegionsUse,
    RegionUse,
    TagUse,
    TraceResult,
    TrimChoice,
)


def trim_choice(session: Session) -> TrimChoice:
    trim = session.config.trim
    plain = trims_plain_build(session.config)
    minimum = MINIMUM_SIZE if trim.minimum_size else ()
    off = () if plain else switched_off(trim)
    named_off = [str(flag) for flag in off if flag not in minimum]
    return TrimChoice(
        level=trim.level,
        layout=trim.layout,
        minimum_size=trim.minimum_size and not plain,
        optimize=trim.optimize,
        switched_off=tuple(named_off),
        means=size_options.list_results(session),
        crash_ids=trim.crash_ids,
        quick=session.request.options.quick,
    )


def regions_use(task: Task, session: Session) -> RegionsUse:
    """None are held if the verdict's task depends on no profile build.

    One that a trap made necessary is not asked, or the next run would report the trap otherwise.
    """
    profiled = PROFILE in task.wants
    held = list_held_regions(session.results) if profiled else ()
    keep = _keep_set(session.results)
    if keep is None:
        return RegionsUse(held=len(held), kept=0, by_tag=())
    kept = keep.regions()
    described = _describe(kept, session)
    total = Counter(region.tag for region in {*held, *kept})
    by_tag = {tag: tuple(group) for tag, group in groupby(sorted(kept), lambda r: r.tag)}

    tags = []
    for tag in sorted(total):
        regions = by_tag.get(tag, ())
        use = TagUse(
            tag=tag,
            kept=len(regions),
            held=total[tag] if profiled else 0,
            regions=tuple(described[region] for region in regions),
        )
        tags.append(use)
    held_count = sum(total.values()) if profiled else 0
    return RegionsUse(held=held_count, kept=len(kept), by_tag=tuple(tags))


def _describe(kept: Mapping[Region, tuple[str, ...]], session: Session) -> dict[Region, RegionUse]:
    if not kept:
        return {}
    names = session.services.marks.read_names()
    return {
        region: RegionUse(name=str(region), meaning=names.meaning(region), scenarios=scenarios)
        for region, scenarios in kept.items()
    }


def traced_regions(session: Session) -> dict[str, int]:
    keep = _keep_set(session.results)
    if session.request.options.committed and keep is not None:
        return {record.id: len(record.regions) for record in keep.scenarios}
    tasks = ((each.id, trace_task(each)) for each in all_scenarios(session.config))
    return {
        id_: session.done[task].result_as(TraceResult).regions
        for id_, task in tasks
        if task in session.done
    }


def functions_use(results: TaskResults) -> tuple[FunctionsUse, ...]:
    if REDUCED not in results.done:
        return ()
    functions = results.done[REDUCED].result_as(ReduceResult).functions
    return tuple(
        FunctionsUse(artifact=name, held=count.held, kept=count.held - count.dropped)
        for name, count in functions.items()
    )


def rebuild(results: TaskResults) -> Rebuild | None:
    made = [task for task in (REGION, REDUCED) if task in results.done]
    if HEADER not in results.done or not made:
        return None
    build = results.done[made[0]].result_as(ReduceResult).build
    if made[0] in results.taken:
        return Rebuild(compiled=0, units=build.translation_units)
    return Rebuild(compiled=len(build.rebuilt), units=build.translation_units)


def operators_use(results: TaskResults) -> OperatorsUse:
    keep = _keep_set(results)
    needs = keep.operators if keep else None
    if needs is None:
        return OperatorsUse(kept=(), dtypes=(), elemwise_modes=())
    return OperatorsUse(
        kept=_uses(needs.operators),
        dtypes=_uses(needs.dtypes),
        elemwise_modes=_uses(needs.elemwise_modes),
    )


def _keep_set(results: TaskResults) -> KeepSet | None:
    if HEADER not in results.done:
        return None
    return read_keep_set(results.done[HEADER].file(KEEP_SET_FILE))


def _uses(needed: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[OperatorUse, ...]:
    return tuple(OperatorUse(name=name, models=models) for name, models in needed)


def list_held_regions(results: TaskResults) -> tuple[Region, ...]:
    if PROFILE not in results.done:
        return ()
    text = results.done[PROFILE].file(REGIONS_FILE).read_text(encoding="utf-8")
    return tuple(Region.parse(line) for line in text.splitlines())
