"""The folded parts of the comment: scenarios, what was kept, engine, toolchain and devices.

Pure; part of the report room. Each function returns one complete fold, so that
:mod:`megtrim.report.comment` can omit it.
"""

from __future__ import annotations

from megtrim.report.formatting import (
    CHECK_SIGNS,
    SCENARIO_STATUSES,
    describe_rebuild,
    group_digits,
    kept_of_held,
    seconds,
)
from megtrim.report.markup import MOST_ROWS, bounded_table, code, fold, prose
from megtrim.verdict.checks import with_note
from megtrim.verdict.model import (
    DeviceIdentity,
    OperatorUse,
    RegionsUse,
    ScenarioResult,
    TagUse,
    Verdict,
)
from megtrim.verdict.statuses import ScenarioStatus


def scenarios(verdict: Verdict) -> str:
    """Return a row for each scenario."""
    passed = sum(scenario.status is ScenarioStatus.PASS for scenario in verdict.scenarios)
    title = f"Scenarios: {group_digits(passed)} of {group_digits(len(verdict.scenarios))} passed"
    head = ("scenario", "result", "what was seen", "device", "regions>", "time>")
    return fold(title, bounded_table(head, verdict.scenarios, _scenario))


def _scenario(scenario: ScenarioResult) -> tuple[str, ...]:
    return (
        code(scenario.id),
        CHECK_SIGNS[SCENARIO_STATUSES[scenario.status]],
        prose(with_note(scenario.text, scenario.conditions)),
        code(scenario.device),
        group_digits(scenario.regions),
        seconds(scenario.time_s),
    )


def render_keep_set(verdict: Verdict) -> str:
    """Return the fold of what was kept: regions by tag, operators, data types, modes."""
    regions, operators = verdict.regions, verdict.operators
    parts = [_tags(regions) if regions.kept else "No region was chosen by a trace."]
    for name, uses in (
        ("Operators", operators.kept),
        ("Data types", operators.dtypes),
        ("Elementwise modes", operators.elemwise_modes),
    ):
        parts.append(f"**{name}:** {_names(uses)}")
    count = f": {kept_of_held(regions.kept, regions.held)} regions" if regions.kept else ""
    return fold(f"What was kept{count}", "\n\n".join(parts))


def _tags(regions: RegionsUse) -> str:
    """Return kept regions by tag; the total per tag is known only from a profile build."""
    columns = 3 if regions.held else 2

    def row(use: TagUse) -> tuple[str, ...]:
        return (code(use.tag), group_digits(use.kept), group_digits(use.held))[:columns]

    tags = sorted(regions.by_tag, key=lambda use: (-use.kept, use.tag))
    return bounded_table(("tag", "kept>", "held>")[:columns], tags, row)


def _names(uses: tuple[OperatorUse, ...]) -> str:
    shown = ", ".join(code(use.name) for use in uses[:MOST_ROWS])
    more = len(uses) - MOST_ROWS
    return (shown or "all") + (f" and {group_digits(more)} more" if more > 0 else "")


def identity(verdict: Verdict) -> str:
    """Return the fold of engine, toolchain, trim and devices."""
    engine, toolchain, trim = verdict.engine, verdict.toolchain, verdict.trim
    dirty = f", {group_digits(len(engine.dirty))} changed files" if engine.dirty else ""
    rows = [
        ("engine", f"{code(engine.kind)} {code(engine.commit or engine.digest)}{dirty}"),
        ("header generation", str(engine.generation)),
        ("toolchain", f"{code(toolchain.kind)} {code(toolchain.target)} {code(toolchain.version)}"),
        *((("image", code(toolchain.image)),) if toolchain.image else ()),
        ("trim", code(f"level {trim.level}, layout {trim.layout}, optimize {trim.optimize}")),
        ("minimum size", "yes" if trim.minimum_size else "no"),
        *((("switched off", code(", ".join(trim.switched_off))),) if trim.switched_off else ()),
        *((("means", code(", ".join(trim.used))),) if trim.used else ()),
        *(("not used", prose(each)) for each in trim.unused),
        *((("compiled", describe_rebuild(verdict.rebuild)),) if verdict.rebuild else ()),
        *(("device", _device(device)) for device in verdict.devices),
    ]
    return fold("Engine, toolchain and devices", bounded_table(("what", "which"), rows, tuple))


def _device(device: DeviceIdentity) -> str:
    facts = ", ".join(code(f"{name}: {value}") for name, value in sorted(device.facts.items()))
    return f"{code(device.name)} ({code(device.kind)}) {facts}"
