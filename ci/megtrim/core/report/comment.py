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
from megtrim.core.report.findings import (
    Concern,
    describe_outcome,
    list_findings,
)
from megtrim.core.report.sections import find_times
from megtrim.core.size.report import budgets
from megtrim.core.size.report import tables as sizes
from megtrim.core.size.rows import name_subject
from megtrim.core.trim.results import OperatorUse, RegionsUse, TagUse
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import (
    describe_origin,
    describe_rebuild,
    has_kernels,
    list_trimmed,
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
    code_in_title,
    command,
    fold,
    link,
    one_line,
    path_in_repository,
    prose,
    prose_with_code,
)
from megtrim.libs.util.errors import EXIT_PASS
from megtrim.libs.util.value import Value

T = TypeVar("T")

LIMIT = 60_000
"""Bytes of UTF-8. A comment may have 65,536 characters, however GitHub counts them."""

_NOTE_ROOM = 500
_MOST_FINDINGS = 4
_MOST_NAMED = 3
_MOST_SHOWN = 5
_MOST_LINES = 20
_MOST_MISSING = 50
_MOST_DETAIL = 2_000
_MOST_COMMAND = 2_000

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
    last = _name_origin(verdict.origin, links)
    shown, left_out = fit(_parts(verdict, links, measured=measured), others=[last])
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
    """Return the last line of a page that has no link to its run yet."""
    where = link("This run", links.run)
    last = _name_origin(origin, links)
    return " ".join(part for part in (last, where and f"{where} has its log.") if part)


def _name_origin(origin: Origin, links: Links) -> str:
    of = prose(describe_origin(origin))
    where = f"The report is the artifact {code(links.artifact)}." if links.artifact else ""
    return " ".join(part for part in (of and f"{of}.", where) if part)


def _parts(verdict: Verdict, links: Links, *, measured: bool) -> Iterator[tuple[str, str]]:
    yield "verdict", _opening(verdict, links)
    yield from _decide(verdict)
    times = find_times(verdict)
    if times is not None:
        tables, performance = times
        yield "times in short", tables.markdown_summary(performance)
    yield from _devices(verdict)
    if verdict.warnings:
        yield "warnings", _list("Warnings", verdict.warnings, prose)
    if verdict.artifacts:
        yield from (("what changed", part) for part in sizes.changes(verdict))
        yield "sizes of all builds", sizes.fold_builds(verdict)
    if verdict.scenarios:
        yield "scenarios", scenarios(verdict)
    if times is not None:
        tables, performance = times
        yield from (("times", part) for part in tables.markdown(performance))
    if measured and verdict.neighbours:
        yield "neighbours", neighbours.markdown(verdict.neighbours)
    if has_kernels(verdict):
        yield "what was kept", render_keep_set(verdict)
    yield "engine, toolchain and devices", identity(verdict)


def _decide(verdict: Verdict) -> Iterator[tuple[str, str]]:
    """Yield what keeps it from passing, sizes and budgets."""
    findings = [each for each in list_findings(verdict) if not _is_quiet(each.first)]
    # A size within its budget would be a green line above a failure.
    sizes_first = not findings or findings[0].is_of_sizes
    if sizes_first:
        yield from _sizes(verdict)
    for finding in findings[:1]:
        yield "check", describe_finding(finding, verdict)
    if not sizes_first:
        yield from _sizes(verdict)
    for finding in findings[1:_MOST_FINDINGS]:
        yield "check", f"{_title(finding)}\n\n{describe_finding(finding, verdict)}"
    if findings[_MOST_FINDINGS:]:
        yield "further checks", _further(findings[_MOST_FINDINGS:])
    yield from (("budgets", part) for part in budgets.markdown(verdict))


def _sizes(verdict: Verdict) -> Iterator[tuple[str, str]]:
    if shown := sizes.table(verdict):
        yield "table of sizes", shown
    if why := sizes.explain_changes(verdict):
        yield "why sizes changed", why
    yield from (("price of what came in", part) for part in sizes.list_prices(verdict))


def _opening(verdict: Verdict, links: Links) -> str:
    """Return the heading, and below it where the report is, and what it is about."""
    title = f"## {VERDICT_SIGNS[verdict.verdict]} {describe_outcome(verdict, sizes.MARKDOWN)}"
    config = verdict.invocation.config
    of = f" ({code(config)})" if id_of(config) else ""
    about = f"megtrim: {verdict.verdict} for {code(verdict.origin.project)}{of}"
    facts = [link("Report", links.run), about]
    if verdict.artifacts:
        facts.append(sizes.name_baseline(verdict))
    lines = [title, " · ".join(fact for fact in facts if fact)]
    if verdict.verdict not in (VerdictKind.PASS, VerdictKind.FAIL):
        lines.append(_explain_unclear(verdict))
    elif not verdict.artifacts:
        lines.append(prose(f"{verdict.headline}."))
    return "\n\n".join(lines)


def _explain_unclear(verdict: Verdict) -> str:
    passes = exit_code(verdict.verdict, verdict.unverified) == EXIT_PASS
    until = " This does not block the merge." if passes else ""
    return f"{MEANINGS[verdict.verdict]}{until}"


def _title(finding: Concern) -> str:
    sign = CHECK_SIGNS[finding.status]
    if len(finding.checks) == 1:
        return f"### {sign}: {code(finding.first.id)}"
    of = "scenarios" if finding.is_of_scenarios else "checks"
    number = len(finding.subjects if finding.is_of_scenarios else finding.checks)
    return f"### {sign}: {group_digits(number)} {of if number > 1 else of.removesuffix('s')}"


def describe_finding(finding: Concern, verdict: Verdict) -> str:
    """Say what was seen, once for all checks that ended by it, and what to do."""
    check = finding.first
    lines = []
    if finding.missing:
        lines.append(_name_missing(finding))
    elif not (finding.is_of_sizes and _is_in_table(finding, verdict)):
        lines.append(_describe_checks(finding))
    todo = [f"**What to do:** {prose_with_code(check.hint)}."] if check.hint else []
    if finding.is_of_sizes and check.hint:
        file = path_in_repository(check.file, verdict.invocation.config)
        todo.append(f"Its limit: {code(f'{file}:{check.line}')}.")
    if check.reproduce:
        todo.append("To reproduce:")
    if todo:
        lines.append(" ".join(todo))
    if check.reproduce:
        lines.append(block(command(check.reproduce), limit=_MOST_COMMAND))
    return "\n\n".join((*lines, *_fold_details(finding, verdict)))


def _is_in_table(finding: Concern, verdict: Verdict) -> bool:
    """Tell whether the table of sizes says all of it."""
    trimmed = {name_subject(name, size.variant, "") for name, size in list_trimmed(verdict)}
    return all(check.subject in trimmed for check in finding.checks)


def _describe_checks(finding: Concern) -> str:
    first, *others = finding.texts
    if len(finding.checks) > 1 and finding.is_of_sizes:
        lines = (f"- {code(check.subject)}: {prose(check.text)}" for check in finding.checks)
        return "\n".join(lines)
    named = _name_subjects(finding) if len(finding.subjects) > 1 else ""
    return "\n\n".join(part for part in (prose(f"{first}."), *map(prose, others), named) if part)


def _name_subjects(finding: Concern) -> str:
    subjects = [code(subject) for subject in finding.subjects]
    more = len(subjects) - _MOST_NAMED
    others = f" and {group_digits(more)} more" if more > 0 else ""
    return ", ".join(subjects[:_MOST_NAMED]) + others


def _name_missing(finding: Concern) -> str:
    number = len(finding.missing)
    several = len(finding.subjects) > 1
    need = "need" if several else "needs"
    which = "this region, which was" if number == 1 else f"these {number:,} regions, which were"
    whom = (
        f"{group_digits(len(finding.subjects))} scenarios" if several else _name_subjects(finding)
    )
    shown = [one_line(region, limit=200) for region in finding.missing[:_MOST_MISSING]]
    body = block("\n".join(shown), limit=(_MOST_MISSING + 1) * 300)
    first = f"{whom} {need} {which} trimmed away"
    if number <= _MOST_SHOWN:
        named = f"\n\nThey are {_name_subjects(finding)}." if several else ""
        return f"{first}:\n\n{body}{named}"
    if number > _MOST_MISSING:
        left = group_digits(number - _MOST_MISSING)
        body = block("\n".join((*shown, f"and {left} more")), limit=(_MOST_MISSING + 1) * 300)
    named = f" They are {_name_subjects(finding)}." if several else ""
    return f"{first}.{named}\n\n{fold(f'{group_digits(number)} missing regions', body)}"


def _fold_details(finding: Concern, verdict: Verdict) -> Iterator[str]:
    """Fold what the first scenario left; the report has that of the others."""
    check = finding.first
    if not finding.missing:
        if check.detail:
            yield fold("Details", block(check.detail, limit=_MOST_DETAIL))
        return
    [scenario] = (each for each in verdict.scenarios if each.id == check.subject)
    of = f" of {code_in_title(scenario.id)}" if len(finding.subjects) > 1 else ""
    for title, text in (("Crash", scenario.crash), ("End of the log", scenario.log_tail)):
        if text.strip():
            yield fold(f"{title}{of}", block(text, limit=_MOST_DETAIL))


def _further(findings: Sequence[Concern]) -> str:
    checks = [check for finding in findings for check in finding.checks]

    def row(check: Check) -> tuple[str, ...]:
        return CHECK_SIGNS[check.status], code(check.id), prose(check.text)

    rows = bounded_table(("result", "check", "seen"), checks, row)
    return f"### Also needs attention\n\n{rows}"


def _is_quiet(check: Check) -> bool:
    return check.kind is CheckKind.DEVICE and check.status in _QUIET_ON_DEVICES


def _devices(verdict: Verdict) -> Iterator[tuple[str, str]]:
    by_text: dict[tuple[CheckStatus, str], list[str]] = {}
    for status in _QUIET_ON_DEVICES:
        for check in verdict.checks:
            if check.kind is CheckKind.DEVICE and check.status is status:
                by_text.setdefault((status, check.text), []).append(check.subject)

    def line(entry: tuple[tuple[CheckStatus, str], list[str]]) -> str:
        (status, text), of = entry
        scenarios = code(of[0]) if len(of) == 1 else f"{group_digits(len(of))} scenarios"
        return f"{CHECK_SIGNS[status]}: {prose(text)} ({scenarios})"

    if by_text:
        yield "devices", _list("Devices", list(by_text.items()), line)
    worst = list_findings(verdict)[:1]
    if worst and _is_quiet(worst[0].first) and worst[0].first.hint:
        yield "devices", f"**What to do:** {prose_with_code(worst[0].first.hint)}."


def _list(title: str, items: Sequence[T], line: Callable[[T], str]) -> str:
    more = len(items) - _MOST_LINES
    note = [f"{group_digits(more)} more in the HTML report"] if more > 0 else []
    shown = (*map(line, items[:_MOST_LINES]), *note)
    return f"### {title}\n\n" + "\n".join(f"- {text}" for text in shown)


def scenarios(verdict: Verdict) -> str:
    passed = sum(scenario.status is ScenarioStatus.PASS for scenario in verdict.scenarios)
    title = f"Scenarios: {group_digits(passed)} of {group_digits(len(verdict.scenarios))} passed"
    kernels = has_kernels(verdict)
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
        return bounded_table(
            ("tag", "kept>", "in the engine>"), regions.most_kept_first, row_with_held
        )
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
    kernels = has_kernels(verdict)
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
