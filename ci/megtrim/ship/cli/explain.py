"""``megtrim explain``: who needs a region, what a scenario needs, the verdict, a crash."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.chain.graph import Stage, trims_functions
from megtrim.core.chain.result_store import Store, made_by_another
from megtrim.core.checks.check import Check
from megtrim.core.checks.invocation import DEFAULT_OUT, Invocation, Options, suggest_for_keep_set
from megtrim.core.checks.statuses import CheckStatus, ScenarioStatus
from megtrim.core.cli.echo import show, show_json
from megtrim.core.cli.environment import open_processes, read_invocation
from megtrim.core.cli.message_codes import CODE, describe_code
from megtrim.core.cli.session.setup import open_engine
from megtrim.core.cli.size.why import TrimResults, explain_function, explain_left_out, open_trim
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.core.config.model import Config
from megtrim.core.config.problems import suggest
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.keep.keepset import ScenarioRecord, model_of
from megtrim.core.keep.keepset_files import find_files, read_folder
from megtrim.core.keep.marks import RegionNames
from megtrim.core.keep.region import Region
from megtrim.core.verdict.model import Verdict, VerdictResult, parse_verdict
from megtrim.libs.elf.symbol_names import readable, without_arguments
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.input_files import read_bytes
from megtrim.ship.cli.document_rows import find_row
from megtrim.ship.crashes.finding import CandidateKind, CrashCause, CrashFinding, read_name
from megtrim.ship.crashes.lookup import (
    keep_lines,
    list_build_ids,
    look_up,
    nearest_scenario,
    scenario_lines,
)
from megtrim.ship.crashes.report import MAX_REPORT_BYTES, parse_address, parse_report
from megtrim.ship.crashes.report_values import CrashReport
from megtrim.ship.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.ship.release.archive import open_release
from megtrim.ship.release.prove import read_release

_LISTED = 50
_REGION = re.compile(r"[A-Za-z_]\w*(?:<.*>)?", re.ASCII)
"""What may be a tag or a region; a function may be spelled so, too."""
_NAME = re.compile(r"[\w.:/@~]+(?:<.*>)?(?:\(.*\))?", re.ASCII)
"""What may be in a keep set: anything else can only be of the engine's documents."""


def explain(
    options: Options,
    thing: str | None,
    crash: Path | None,
    address: str | None,
) -> None:
    if sum(each is not None for each in (thing, crash, address)) != 1:
        msg = "expected one of THING, --crash FILE and --address 0x…"
        raise InputError(msg, hint="`megtrim explain --help` lists the possible questions")
    if thing is not None and options.of_release is not None:
        msg = "a release can only be asked about crashes: --release needs --crash or --address"
        raise click.UsageError(msg)
    if thing is not None:
        facts = _explain_thing(thing, options)
    elif crash is None:
        facts = _explain_crash(parse_address(address or ""), options)
    else:
        data = read_bytes(crash, most_bytes=MAX_REPORT_BYTES, expected="the report of a crash")
        facts = _explain_crash(parse_report(data, source=str(crash)), options)
    if options.as_json:
        show_json(facts)
    else:
        show("\n".join(_lines(facts)))


def _explain_thing(thing: str, options: Options) -> dict[str, Any]:
    if CODE.fullmatch(thing):
        if text := describe_code(thing):
            return {"code": thing, "what to do": text}
        msg = f"there is no code {thing}"
        raise InputError(msg, hint="docs/reference/find-a-message.md lists them all")
    row = find_row(thing)
    if row is None:
        return _explain_name(thing, options)
    if _NAME.fullmatch(thing):
        # The keep set may have the name of a region or function as well.
        with suppress(InputError):
            return _explain_name(thing, options)
    return {"in the engine's documents": row.words[0], "here": row.here, "result": row.result}


def _explain_name(thing: str, options: Options) -> dict[str, Any]:
    loaded = load_config(options.config, engine_source=options.engine)
    if thing == "verdict":
        verdict = _verdict(options.out)
        checks = {check.id: _describe_check(check) for check in verdict.checks}
        return {"verdict": verdict.verdict, "headline": verdict.headline, "checks": checks}
    invocation = read_invocation(options, keep_set=loaded.config.keep_set)
    trapped = _find_trapped_scenarios(thing, options.out)
    try:
        return _query_keep_set(thing, loaded, trapped, invocation)
    except InputError as unknown:
        # Most functions that are kept ran in no scenario, and those that are gone did not, either.
        trim = _open_finished(loaded.config, options)
        if trim is None:
            raise
        if facts := _explain_function(thing, trim):
            return facts
        if loaded.config.engine.is_project:
            msg = f"{unknown.message}, and the build has none either"
            hint = "a function that is inlined everywhere has no code of its own"
            raise InputError(msg, hint=hint) from None
        raise


def _open_finished(config: Config, options: Options) -> TrimResults | None:
    """Return what a link can be asked of functions; None: there is no trim that is up to date."""
    if not trims_functions(config):
        return None
    with suppress(InputError):
        return open_trim(options)
    return None


def _explain_function(thing: str, trim: TrimResults) -> dict[str, Any]:
    """Return whether each trimmed program has this function, and why; empty: it is in no build."""
    facts = {}
    for program in trim.programs:
        of = f" in {program}" if len(trim.programs) > 1 else ""
        found = explain_left_out(thing, program, trim)
        if found is not None:
            facts[f"{found['name']}{of}"] = _describe_left_out(found)
            continue
        kept = explain_function(thing, program, trim)
        facts |= {f"{name}{of}": each for name, each in kept.items()}
    return facts


def _describe_left_out(found: Mapping[str, Any]) -> dict[str, Any]:
    functions = found["functions"]
    facts: dict[str, Any] = {
        "kept": "no",
        "why": f"no scenario runs it, so it is {found['state']}",
        "program": found["program"],
        "bytes before the trim": found["size_bytes"],
    }
    for label, key in (
        ("called directly by functions that are kept", "called_by_kept"),
        ("called directly by functions that are left out as well", "called_by_left_out"),
    ):
        callers = sorted({caller for each in functions for caller in each[key]})
        if callers:
            facts[label] = callers
    return facts


def _verdict(out: Path) -> Verdict:
    store = Store(out.absolute())
    folder = store.previous(Stage.VERDICT, VerdictResult)
    if folder is None and store.holds_foreign(Stage.VERDICT):
        raise made_by_another(out)
    if folder is None:
        msg = f"there is no verdict in {out} yet"
        hint = f"name its folder with --out (without: {DEFAULT_OUT}), or make one"
        raise InputError(msg, hint=hint, command=("trim",))
    source = folder.file(VERDICT_FILE)
    return parse_verdict(source.read_text(encoding="utf-8"), source=str(source))


def _describe_check(check: Check) -> dict[str, Any]:
    facts = {"status": check.status, "text": check.text, "where": f"{check.file}:{check.line}"}
    if check.status is not CheckStatus.PASS:
        facts |= {"detail": check.detail, "hint": check.hint, "reproduce": check.reproduce}
    return facts


def _find_trapped_scenarios(thing: str, out: Path) -> tuple[str, ...]:
    try:
        scenarios = _verdict(out).scenarios
    except InputError:
        return ()  # none is there, or none that can be read: people ask without one, too
    return tuple(
        scenario.id
        for scenario in scenarios
        if scenario.status is ScenarioStatus.TRAP
        and (
            any(thing in (name, name.partition("<")[0]) for name in scenario.missing_regions)
            or f"the function {thing} is not kept" in scenario.text
        )
    )


def _query_keep_set(
    thing: str, loaded: LoadedConfig, trapped: Sequence[str], invocation: Invocation
) -> dict[str, Any]:
    path = loaded.config.keep_set
    if not find_files(loaded.resolve(path), shown=str(path)):
        msg = f"there is no keep set at {path} yet"
        raise InputError(msg, hint="make it", command=("trim",))
    keep = read_folder(loaded.resolve(path), shown=str(path))
    needed = keep.regions()
    records = [each for each in keep.scenarios if thing in (each.id, model_of(each.id))]
    if records:
        return {record.id: _describe_scenario(record, needed) for record in records}
    functions = {
        name: {"function": readable(name), "needed by": users}
        for name, users in keep.functions().items()
        if thing in (name, readable(name), *without_arguments(readable(name)))
    }
    if functions:
        return functions
    regions = [region for region in needed if thing in (region.tag, str(region))]
    marks = open_engine(loaded, open_processes()).marks
    names = marks.read_names() if marks else None
    if regions and names:
        return {
            str(region): {
                "meaning": names.meaning(region),
                "needed by": needed[region],
                "source": _list_places(region, names),
            }
            for region in regions
        }
    known = [name for each in keep.scenarios for name in (each.id, model_of(each.id))]
    known += [name for region in needed for name in (region.tag, str(region))]
    known += [name for each in keep.functions() for name in without_arguments(readable(each))]
    may_be_region = names is not None and _REGION.fullmatch(thing) is not None
    if not trapped and keep.functions() and not may_be_region:
        msg = f"according to {path}, no scenario runs a function {thing!r}{suggest(thing, known)}"
        raise InputError(msg, hint="the build or trim.keep may keep it anyway")
    return {thing: _stranger(thing, path, names, trapped, invocation, known)}


def _describe_scenario(
    record: ScenarioRecord, needed: Mapping[Region, tuple[str, ...]]
) -> dict[str, Any]:
    alone = [str(region) for region, scenarios in needed.items() if scenarios == (record.id,)]
    return {
        "arguments": " ".join(record.arguments),
        **({"model": f"sha256 {record.model_sha256}"} if record.model_sha256 else {}),
        "trace": f"sha256 {record.trace_sha256}",
        **({"regions": len(record.regions)} if record.regions else {}),
        **({"functions": len(record.functions)} if record.functions else {}),
        **({"regions that no other scenario needs": alone} if record.regions else {}),
    }


def _list_places(region: Region, names: RegionNames) -> list[str]:
    return [f"{file}:{line}" for file, line in names.places(region)]


def _stranger(
    thing: str,
    path: Path,
    names: RegionNames | None,
    trapped: Sequence[str],
    invocation: Invocation,
    known: Sequence[str],
) -> dict[str, Any]:
    is_region = _REGION.fullmatch(thing) is not None
    region = Region.parse(thing if "<" in thing else f"{thing}<>") if is_region else None
    places = _list_places(region, names) if region and names else []
    if not places and not trapped:
        what = f"model, scenario, tag, region or function {thing!r}"
        every = (*known, *names.tags) if names else known
        msg = f"{path} and the engine's source know no {what}{suggest(thing, every)}"
        raise InputError(msg, hint="`megtrim explain --help` lists the possible questions")
    facts: dict[str, Any] = {"kept": "no: no scenario of the committed keep set runs it"}
    if trapped:
        facts = {"kept": f"no, and it is needed: {', '.join(trapped)} trapped without it"}
        facts["what to do"] = suggest_for_keep_set(invocation)
    if region and names and places:
        facts["meaning"] = names.meaning(region)
        facts["source"] = places
    return facts


def _lines(facts: dict[str, Any], indent: str = "") -> Iterator[str]:
    for label, value in facts.items():
        if isinstance(value, dict):
            yield f"{indent}{label}"
            yield from _lines(value, indent + "  ")
        elif isinstance(value, list | tuple):
            yield f"{indent}{label}{_say_length(label, len(value))}"
            yield from (f"{indent}  {item}" for item in value[:_LISTED])
        elif value != "":
            yield f"{indent}{label}: {value}"


def _say_length(label: str, length: int) -> str:
    if length > _LISTED:
        return f": {length} (the first {_LISTED})"
    return f" ({length} lines):" if label in _OF_LINES else f": {length}"


_HEADLINES = {
    CrashCause.LEFT_OUT: "trimming left it out",
    CrashCause.CANDIDATES: "trimming left out one of the candidates",
    CrashCause.NOT_TRIMMING: "trimming is not at fault",
    CrashCause.UNKNOWN: "these results cannot tell",
}
_DOUBTFUL = {
    CrashCause.CANDIDATES: "trimming may have left out one of the candidates",
    CrashCause.NOT_TRIMMING: "no sign that trimming is at fault, but it cannot be ruled out",
}
_TO_BE_SURE = "to be sure, run this with the arguments and inputs of your user"
_PROGRAM = "PROGRAM"
"""Of a command in a release, which does not say what its project starts."""
_TO_ADD = "a scenario to add"
_TO_KEEP = "or lines that keep it"
_OF_LINES = frozenset({_TO_ADD, _TO_KEEP})
"""Facts whose items are the lines of one text, and are no things to count."""


def _explain_crash(report: CrashReport, options: Options) -> dict[str, Any]:
    if options.of_release is not None:
        with open_release(options.of_release) as folder:
            made = read_release(folder, shown=str(options.of_release))
        return _render(look_up(report, made.programs, made.nameless), made, None, None)
    config = load_config(options.config, engine_source=options.engine).config
    invocation = read_invocation(options, keep_set=config.keep_set)
    made = read_newest(Store(options.out.absolute()), list_build_ids(report))
    return _render(look_up(report, made.programs, made.nameless), made, invocation, config)


def _render(
    finding: CrashFinding, made: FinishedTrim, invocation: Invocation | None, config: Config | None
) -> dict[str, Any]:
    """``invocation`` and ``config`` are None for a release: its project is elsewhere."""
    innocent = finding.cause is CrashCause.NOT_TRIMMING
    certain = not finding.why_several and (innocent or finding.cause is CrashCause.LEFT_OUT)
    headlines = _HEADLINES | _DOUBTFUL if finding.is_doubtful else _HEADLINES
    facts: dict[str, Any] = {"crash": headlines[finding.cause], "why": finding.text}
    if finding.program:
        facts["program"] = finding.program
    facts["certain"] = certain
    if finding.cause is CrashCause.UNKNOWN:
        return facts | {"what to do": finding.hint}
    doubts = {"why it is not certain": list(finding.why_several)} if finding.why_several else {}
    if innocent:
        return facts | doubts
    facts["candidates"] = [
        f"a region of {found.name}"
        if found.kind is CandidateKind.REGION_WITHIN
        else f"the {found.kind} {found.name}"
        for found in finding.candidates
    ]
    facts |= doubts
    if finding.stack:
        facts["called from"] = [read_name(each) for each in finding.stack]
    record = nearest_scenario(finding, made.keep)
    if record is not None:
        facts["nearest scenario"] = record.id
        where = _TO_BE_SURE if invocation else f"in its project, {_TO_BE_SURE}"
        # Next to models, no program of a command is probed.
        if record.model_sha256 or config is None or not config.models:
            facts[where] = _command(record, invocation or Invocation(), config)
        facts[_TO_ADD] = list(scenario_lines(record))
    if lines := keep_lines(finding):
        facts[_TO_KEEP] = list(lines)
    return facts


def _command(record: ScenarioRecord, invocation: Invocation, config: Config | None) -> str:
    known = all_scenarios(config) if config else ()
    scenario = next((each.settings for each in known if each.id == record.id), None)
    folder = Path(invocation.config).parent
    files = {name: str(folder / file) for name, file in scenario.inputs.items()} if scenario else {}
    inputs = (f"{name}={files.get(name, 'FILE')}" for name, _ in record.inputs)
    words = [word for input_ in inputs for word in ("--input", input_)]
    application = scenario.application if scenario else None
    probed = model_of(record.id)
    if not record.model_sha256:
        own = config.engine.target if config else _PROGRAM
        probed = application or own
    elif application:
        words += ["--application", application]
    return invocation.again("probe", *words, probed, "--", *record.arguments)
