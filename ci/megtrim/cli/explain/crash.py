"""``megtrim explain --crash FILE``: what a crash in the field needed, by a trim or a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from megtrim.chain.store import Store
from megtrim.checks.invocation import Invocation
from megtrim.config.model import Config
from megtrim.config.scenarios import all_scenarios
from megtrim.crashes.advice import keep_lines, nearest_scenario, scenario_lines
from megtrim.crashes.lookup import (
    CandidateKind,
    CrashCandidate,
    CrashCause,
    CrashFinding,
    look_up,
    read_name,
)
from megtrim.crashes.report import (
    MAX_REPORT_BYTES,
    CrashReport,
    parse_address,
    parse_report,
)
from megtrim.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.regions.keepset import ScenarioRecord
from megtrim.regions.keepset_parts import model_of
from megtrim.release.archive import open_release
from megtrim.release.released_programs import read_release
from megtrim.util.input_files import read_bytes

_HEADLINES = {
    CrashCause.LEFT_OUT: "trimming left it out",
    CrashCause.CANDIDATES: "trimming left out one of the candidates",
    CrashCause.NOT_TRIMMING: "trimming is not at fault",
    CrashCause.UNKNOWN: "these results cannot tell",
}
_NO_SIGN = "no sign that trimming is at fault"
_TO_BE_SURE = "to be sure, with the arguments and inputs that the field used"


def explain_crash(
    crash: Path | None, address: str | None, out: Path, invocation: Invocation, config: Config
) -> dict[str, Any]:
    """Return the facts about a crash: its report is a file, or one address. Raises InputError."""
    report = _read(crash, address)
    made = read_newest(Store(out.absolute()))
    return render(look_up(report, made.programs, made.nameless), made, invocation, config)


def explain_crash_of_release(
    crash: Path | None, address: str | None, release: Path
) -> dict[str, Any]:
    """Return the facts about a crash of a release, which need nothing but the release itself."""
    report = _read(crash, address)
    with open_release(release) as folder:
        made = read_release(folder, shown=str(release))
    return render(look_up(report, made.programs, made.nameless), made, None, None)


def render(
    finding: CrashFinding, made: FinishedTrim, invocation: Invocation | None, config: Config | None
) -> dict[str, Any]:
    """Return the facts as people and programs read them; empty ones are not shown.

    ``invocation`` and ``config`` are None for a release: its project is elsewhere.
    """
    innocent = finding.cause is CrashCause.NOT_TRIMMING
    certain = not finding.why_several and (innocent or finding.cause is CrashCause.LEFT_OUT)
    headline = _NO_SIGN if innocent and not certain else _HEADLINES[finding.cause]
    facts: dict[str, Any] = {"crash": headline, "why": finding.text}
    if finding.program:
        facts["program"] = finding.program
    facts["certain"] = certain
    if finding.cause is CrashCause.UNKNOWN:
        return facts | {"what to do": finding.hint}
    doubts = {"why it is not certain": list(finding.why_several)} if finding.why_several else {}
    if innocent:
        return facts | doubts
    facts["candidates"] = [_describe(each) for each in finding.candidates]
    facts |= doubts
    if finding.stack:
        facts["called from"] = [read_name(each) for each in finding.stack]
    record = nearest_scenario(finding, made.keep)
    if record is not None:
        facts["nearest scenario"] = record.id
        where = _TO_BE_SURE if invocation else f"in its project, {_TO_BE_SURE}"
        facts[where] = _command(record, invocation or Invocation(), config)
        facts["a scenario to add"] = list(scenario_lines(record))
    if lines := keep_lines(finding):
        facts["or lines that keep it"] = list(lines)
    return facts


def _read(crash: Path | None, address: str | None) -> CrashReport:
    if crash is None:
        return parse_address(address or "")
    data = read_bytes(crash, most_bytes=MAX_REPORT_BYTES, expected="the report of a crash")
    return parse_report(data, source=str(crash))


def _describe(each: CrashCandidate) -> str:
    what = "a region of" if each.kind is CandidateKind.REGION_WITHIN else f"the {each.kind}"
    return f"{what} {each.name}"


def _command(record: ScenarioRecord, invocation: Invocation, config: Config | None) -> str:
    """Return the command that runs the scenario on the trimmed and the profile build."""
    known = all_scenarios(config) if config else ()
    scenario = next((each.settings for each in known if each.id == record.id), None)
    folder = Path(invocation.config).parent
    files = {name: str(folder / file) for name, file in scenario.inputs.items()} if scenario else {}
    inputs = (f"{name}={files.get(name, 'FILE')}" for name, _ in record.inputs)
    words = [word for each in inputs for word in ("--input", each)]
    if scenario and scenario.application:
        words += ["--application", scenario.application]
    return invocation.again("probe", *words, model_of(record.id), "--", *record.arguments)
