"""What was kept and for whom, as a verdict shows it: regions by tag, operators by model."""

from __future__ import annotations

from collections import Counter
from itertools import groupby

from megtrim.midout.keepset import read_keep_set
from megtrim.midout.names import NameTable
from megtrim.midout.region import Region
from megtrim.plan.graph import HEADER, PROFILE
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE, REGIONS_FILE
from megtrim.verdict.model import OperatorsUse, OperatorUse, RegionsUse, RegionUse, TagUse


def regions_use(context: Context) -> RegionsUse:
    """Return the kept regions by tag, beside how many the profile binary holds."""
    held = _held(context)
    if HEADER not in context.done:
        return RegionsUse(held=len(held), kept=0, by_tag=())
    kept = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE)).regions()
    names = NameTable(context.engine.texts())
    total = Counter(region.tag for region in {*held, *kept})
    by_tag = {tag: tuple(group) for tag, group in groupby(sorted(kept), lambda r: r.tag)}
    return RegionsUse(
        held=sum(total.values()),
        kept=len(kept),
        by_tag=tuple(
            TagUse(
                tag=tag,
                kept=len(by_tag.get(tag, ())),
                held=total[tag],
                regions=tuple(
                    RegionUse(
                        name=str(region), meaning=names.meaning(region), scenarios=kept[region]
                    )
                    for region in by_tag.get(tag, ())
                ),
            )
            for tag in sorted(total)
        ),
    )


def operators_use(context: Context) -> OperatorsUse:
    """Return operators, data types and elementwise modes, each with the models that need it."""
    needs = None
    if HEADER in context.done:
        needs = read_keep_set(context.done[HEADER].file(KEEP_SET_FILE)).operators
    if needs is None:
        return OperatorsUse(kept=(), dtypes=(), elemwise_modes=())
    return OperatorsUse(
        kept=_uses(needs.operators),
        dtypes=_uses(needs.dtypes),
        elemwise_modes=_uses(needs.elemwise_modes),
    )


def _uses(needed: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[OperatorUse, ...]:
    return tuple(OperatorUse(name=name, models=models) for name, models in needed)


def _held(context: Context) -> tuple[Region, ...]:
    if PROFILE not in context.done:
        return ()
    text = context.done[PROFILE].file(REGIONS_FILE).read_text(encoding="utf-8")
    return tuple(Region.parse(line) for line in text.splitlines())
