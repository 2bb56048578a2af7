"""The verdict as the one comment on a pull request; ``report.md`` and the job summary are the same.

A part that does not fit is omitted whole; :mod:`megtrim.libs.render.markup` escapes every text.
Pure.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from megtrim.core.build_spec import Origin
from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.statuses import (
    CHECK_SIGNS,
    MEANINGS,
    SCENARIO_STATUSES,
    VERDICT_SIGNS,
    CheckKind,
    CheckStatus,
    ScenarioStatus,
    VerdictKind,
    exit_code,
)
from megtrim.core.config.config_id import id_of
from megtrim.core.config.units import WORK
from megtrim.core.proof import neighbours
from megtrim.core.proof.results import ScenarioResult, with_note
from megtrim.core.report.sections import find_times
from megtrim.core.size.report import budgets
from megtrim.core.size.report import tables as sizes
from megtrim.core.size.rows import name_subject
from megtrim.core.trim.results import OperatorUse, RegionsUse, TagUse
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    describe_origin,
    describe_rebuild,
    is_of_models,
    list_trimmed,
    list_urgent,
)
from megtrim.libs.render.formatting import (
    group_digits,
    kept_of_held,
    seconds,
)
from megtrim.libs.render.markup import (
    MOST_ROWS,
    block,
    bounded_table,
    code,
    command,
    fold,
    link,
    one_line,
    path_in_repository,
    prose,
)
from megtrim.libs.util.errors import EXIT_PASS
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count

T = TypeVar("T")

LIMIT = 60_000
"""Bytes of UTF-8. A comment may have 65,536 characters, however GitHub counts them."""

_NOTE_ROOM = 500
_MOST_CHECKS = 10
_MOST_LINES = 20
_MOST_MISSING = 50
_MOST_DETAIL = 2_000
_MOST_COMMAND = 2_000
_MOST_TITLE = 300

_QUIET_ON_DEVICES = (
    CheckStatus.UNVERIFIED,
    CheckStatus.INCONCLUSIVE,
    CheckStatus.PASS,
    CheckStatus.SKIPPED,
)


class Links(Value):
    run: str = ""
    artifact: str = ""
    """The run's artifact with the whole report, or empty."""


NOWHERE = Links()


def render(verdict: Verdict, *, links: Links = NOWHERE, measured: bool = False) -> str:
    """``measured`` adds what a pull request does not change."""
    last = close(verdict.origin, links)
    shown, left_out = fit(_parts(verdict, measured=measured), others=[last])
    if left_out:
        names = ", ".join(f"{name} ({n})" if n > 1 else name for name, n in left_out.items())
        shown.append(f"*Left out, because a comment is bounded: {names}. The HTML report has all.*")
    return "\n\n".join(part for part in (*shown, last) if part) + "\n"


def fit(
    parts: Iterable[tuple[str, str]], *, others: Iterable[str]
) -> tuple[list[str], Counter[str]]:
    """Return the parts that fit into a comment, and how many of each name do not."""
    shown: list[str] = []
    left_out: Counter[str] = Counter()
    room = LIMIT - _NOTE_ROOM - sum(len(part.encode()) + 2 for part in others)
    for name, part in parts:
        weight = len(part.encode()) + 2
        if weight <= room:
            shown.append(part)
            room -= weight
        else:
            left_out[name] += 1
    return shown, left_out


def close(origin: Origin, links: Links) -> str:
    of = prose(describe_origin(origin))
    run = link("This run", links.run)
    where = f"{run} has the rest." if run else ""
    if links.artifact:
        keeps = f"keeps the whole report as its artifact {code(links.artifact)}."
        where = f"{run or 'This run'} {keeps}"
    return " ".join(part for part in (of and f"{of}.", where) if part)


def _parts(verdict: Verdict, *, measured: bool) -> Iterator[tuple[str, str]]:
    yield "verdict", _opening(verdict)
    if verdict.artifacts:
        yield from _sizes(verdict)
    attention = [check for check in list_urgent(verdict) if not _is_quiet(check)]
    yield from (("check", _check(check, verdict)) for check in attention[:_MOST_CHECKS])
    if attention[_MOST_CHECKS:]:
        yield "further checks", _further(attention[_MOST_CHECKS:])
    yield from (("budgets", part) for part in budgets.markdown(verdict))
    times = find_times(verdict)
    if times is not None:
        tables, performance = times
        yield "times in short", tables.markdown_summary(performance)
    if devices := _devices(verdict):
        yield "devices", devices
    if verdict.warnings:
        yield "warnings", _list("Warnings", verdict.warnings, prose)
    if verdict.scenarios:
        yield "scenarios", scenarios(verdict)
    if times is not None:
        tables, performance = times
        yield from (("times", part) for part in tables.markdown(performance))
    if measured and verdict.neighbours:
        yield "neighbours", neighbours.markdown(verdict.neighbours)
    if is_of_models(verdict):
        yield "what was kept", render_keep_set(verdict)
    yield "engine, toolchain and devices", identity(verdict)


def _sizes(verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "table of sizes", sizes.table(verdict)
    if advice := sizes.advise_on_growth(verdict):
        yield "why sizes changed", advice
    yield from (("price of what came in", part) for part in sizes.list_prices(verdict))
    yield from (("what changed", part) for part in sizes.changes(verdict))


def _opening(verdict: Verdict) -> str:
    sign = VERDICT_SIGNS[verdict.verdict]
    project = code(verdict.origin.project)
    config = verdict.invocation.config
    of = f" ({code(config)})" if id_of(config) else ""
    speaks_for_itself = verdict.verdict in (VerdictKind.PASS, VerdictKind.FAIL)
    meaning = "" if speaks_for_itself else f" {MEANINGS[verdict.verdict]}"
    title = f"## {sign} megtrim: {verdict.verdict} for {project}{of}{_worst(verdict)}"
    seen = f"{prose(f'{verdict.headline}.')}{meaning}"
    glance = sizes.glance(verdict)
    urgent = list_urgent(verdict)
    # A size within its budget would be a green line above a failure.
    sizes_first = not urgent or is_of_sizes(urgent[0])
    parts = (glance, seen) if sizes_first else (seen, glance)
    return "\n\n".join(part for part in (title, describe_next_step(verdict), *parts) if part)


def _worst(verdict: Verdict) -> str:
    urgent = list_urgent(verdict)
    if urgent:
        worst = urgent[0]
        return f": {code(worst.id)}: {prose(one_line(worst.text, limit=_MOST_TITLE))}"
    if verdict.verdict is not VerdictKind.PASS:
        return ": no check passed"
    warnings = len(verdict.warnings)
    return f", with {count(warnings, 'warning')}" if warnings else ""


def _check(check: Check, verdict: Verdict) -> str:
    lines = [f"### {CHECK_SIGNS[check.status]}: {code(check.id)}", prose(check.text)]
    if check.hint:
        lines.append(f"What to do: {prose(check.hint)}")
    if check.reproduce:
        lines.append(f"To see it again:\n\n{block(command(check.reproduce), limit=_MOST_COMMAND)}")
    mine = (s for s in verdict.scenarios if s.id == check.subject and s.missing_regions)
    trapped = next(mine, None) if check.kind is CheckKind.TRAP else None
    if trapped is not None:
        lines.append(_missing_fold(trapped.missing_regions))
        for title, text in (("Crash", trapped.crash), ("End of the log", trapped.log_tail)):
            if text.strip():
                lines.append(fold(title, block(text, limit=_MOST_DETAIL)))
    elif check.detail:
        lines.append(fold("Details", block(check.detail, limit=_MOST_DETAIL)))
    return "\n\n".join(lines)


def _missing_fold(missing: Sequence[str]) -> str:
    shown = [one_line(region, limit=200) for region in missing[:_MOST_MISSING]]
    if missing[_MOST_MISSING:]:
        shown.append(f"and {group_digits(len(missing) - _MOST_MISSING)} more")
    noun = "region" if len(missing) == 1 else "regions"
    body = block("\n".join(shown), limit=(_MOST_MISSING + 1) * 300)
    return fold(f"{group_digits(len(missing))} missing {noun}", body)


def _further(checks: Sequence[Check]) -> str:
    def row(check: Check) -> tuple[str, ...]:
        return CHECK_SIGNS[check.status], code(check.id), prose(check.text)

    rows = bounded_table(("result", "check", "seen"), checks, row)
    return f"### Further checks to look at\n\n{rows}"


def _is_quiet(check: Check) -> bool:
    return check.kind is CheckKind.DEVICE and check.status in _QUIET_ON_DEVICES


def _devices(verdict: Verdict) -> str:
    by_text: dict[tuple[CheckStatus, str], list[str]] = {}
    for status in _QUIET_ON_DEVICES:
        for check in verdict.checks:
            if check.kind is CheckKind.DEVICE and check.status is status:
                by_text.setdefault((status, check.text), []).append(check.subject)

    def line(entry: tuple[tuple[CheckStatus, str], list[str]]) -> str:
        (status, text), of = entry
        scenarios = code(of[0]) if len(of) == 1 else f"{group_digits(len(of))} scenarios"
        return f"{CHECK_SIGNS[status]}: {prose(text)} ({scenarios})"

    return _list("Devices", list(by_text.items()), line) if by_text else ""


def _list(title: str, items: Sequence[T], line: Callable[[T], str]) -> str:
    more = len(items) - _MOST_LINES
    note = [f"{group_digits(more)} more in the HTML report"] if more > 0 else []
    shown = (*map(line, items[:_MOST_LINES]), *note)
    return f"### {title}\n\n" + "\n".join(f"- {text}" for text in shown)


def scenarios(verdict: Verdict) -> str:
    passed = sum(scenario.status is ScenarioStatus.PASS for scenario in verdict.scenarios)
    title = f"Scenarios: {group_digits(passed)} of {group_digits(len(verdict.scenarios))} passed"
    kernels = is_of_models(verdict)
    regions = ("regions>",) if kernels else ()
    head = ("scenario", "result", "what was seen", "device", *regions, "time>")
    work = {row.name: prose(row.used_text) for row in verdict.budgets if row.measure == WORK}
    if not work:
        rows = partial(_scenario, kernels=kernels)
        return fold(title, bounded_table(head, verdict.scenarios, rows))

    def row_with_work(scenario: ScenarioResult) -> tuple[str, ...]:
        return (*_scenario(scenario, kernels=kernels), work.get(f"{scenario.id} {WORK}", ""))

    return fold(title, bounded_table((*head, "work>"), verdict.scenarios, row_with_work))


def _scenario(scenario: ScenarioResult, *, kernels: bool) -> tuple[str, ...]:
    regions = (group_digits(scenario.regions),) if kernels else ()
    return (
        code(scenario.id),
        CHECK_SIGNS[SCENARIO_STATUSES[scenario.status]],
        prose(with_note(scenario.text, scenario.conditions)),
        code(scenario.device),
        *regions,
        seconds(scenario.time_s),
    )


def render_keep_set(verdict: Verdict) -> str:
    regions = verdict.regions
    operators = verdict.operators
    parts = [_tags(regions) if regions.kept else "No region was chosen by a trace."]
    for name, uses in (
        ("Operators", operators.kept),
        ("Data types", operators.dtypes),
        ("Elementwise modes", operators.elemwise_modes),
    ):
        parts.append(f"**{name}:** {_list_names(uses)}")
    amount = f": {kept_of_held(regions.kept, regions.held)} regions" if regions.kept else ""
    return fold(f"What was kept{amount}", "\n\n".join(parts))


def _tags(regions: RegionsUse) -> str:
    def row(use: TagUse) -> tuple[str, ...]:
        return code(use.tag), group_digits(use.kept)

    def row_with_held(use: TagUse) -> tuple[str, ...]:
        return (*row(use), group_digits(use.held))

    if regions.held:
        return bounded_table(("tag", "kept>", "held>"), regions.most_kept_first, row_with_held)
    return bounded_table(("tag", "kept>"), regions.most_kept_first, row)


def _list_names(uses: tuple[OperatorUse, ...]) -> str:
    shown = ", ".join(code(use.name) for use in uses[:MOST_ROWS])
    more = len(uses) - MOST_ROWS
    return (shown or "all") + (f" and {group_digits(more)} more" if more > 0 else "")


def identity(verdict: Verdict) -> str:
    engine = verdict.engine
    toolchain = verdict.toolchain
    trim = verdict.trim
    dirty = f", {group_digits(len(engine.dirty))} changed files" if engine.dirty else ""
    kernels = is_of_models(verdict)
    layout = f", layout {trim.layout}" if kernels else ""
    trim_text = f"level {trim.level}{layout}, optimize {trim.optimize}"
    rows = [("engine", f"{code(engine.kind)} {code(engine.commit or engine.digest)}{dirty}")]
    if kernels:
        rows.append(("header generation", str(engine.generation)))
    rows += [
        ("toolchain", f"{code(toolchain.kind)} {code(toolchain.target)} {code(toolchain.version)}"),
    ]
    if toolchain.image:
        rows.append(("image", code(toolchain.image)))
    rows.append(("trim", code(trim_text)))
    if kernels:
        rows.append(("minimum size", "yes" if trim.minimum_size else "no"))
    if trim.switched_off:
        rows.append(("switched off", code(", ".join(trim.switched_off))))
    if trim.used:
        rows.append(("means", code(", ".join(trim.used))))
    rows += [("not used", prose(reason)) for reason in trim.unused]
    if verdict.rebuild:
        rows.append(("compiled", describe_rebuild(verdict.rebuild)))
    rows += [("device", _describe_device(device)) for device in verdict.devices]
    return fold("Engine, toolchain and devices", bounded_table(("what", "which"), rows, tuple))


def _describe_device(device: DeviceIdentity) -> str:
    facts = ", ".join(code(f"{name}: {value}") for name, value in sorted(device.facts.items()))
    return f"{code(device.name)} ({code(device.kind)}) {facts}"


_OF_BUDGETS = (CheckKind.SIZE, CheckKind.GROWTH)


def is_of_sizes(check: Check) -> bool:
    return check.kind in _OF_BUDGETS


def describe_next_step(verdict: Verdict) -> str:
    """Empty if nothing is to be done."""
    urgent = list_urgent(verdict)
    if not urgent or not urgent[0].hint:
        return ""
    worst = urgent[0]
    parts = [f"**What to do:** {prose(worst.hint)}."]
    if exit_code(verdict.verdict, verdict.unverified) == EXIT_PASS:
        parts.append("Until then, this does not block the merge.")
    if is_of_sizes(worst):
        if causes := _name_causes(worst, verdict):
            parts.insert(0, f"**Cause:** {causes}.")
        file = path_in_repository(worst.file, verdict.invocation.config)
        parts.append(f"The budget is at {code(f'{file}:{worst.line}')}.")
    return " ".join(parts)


def _name_causes(check: Check, verdict: Verdict) -> str:
    """Empty if the file did not grow, or if the budget is of a part."""
    found = (
        size
        for artifact, size in list_trimmed(verdict)
        if name_subject(artifact, size.variant, "") == check.subject
    )
    size = next(found, None)
    if size is None or (size.growth_bytes or 0) <= 0:
        return ""
    return sizes.name_causes(size, verdict.causes, kernels=is_of_models(verdict))
