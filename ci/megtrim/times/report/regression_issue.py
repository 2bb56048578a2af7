"""The issue about one scenario that got slower, and the record that the next night reads in it.

Texts come from anywhere: :mod:`megtrim.libs.render.markup` escapes every one of them.
"""

import re
import shlex
from collections.abc import Iterator

from megtrim.core.build_spec import Variant
from megtrim.core.config.config_id import id_of
from megtrim.core.config.units import WORK
from megtrim.core.size.rows import BudgetRow, name_subject
from megtrim.core.timing.times import RatioResult, Reference, StageTime, ratio_with_interval
from megtrim.core.verdict.performance import PerformanceRow, Row, TrimmingRow
from megtrim.libs.render.markup import block, code, command, link, one_line, prose, table
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump, load
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import COMMIT_DIGEST
from megtrim.times.nights.issue_actions import IssueAction, IssueState, RegressionRecord
from megtrim.times.report.tables import direction, time_with_interval

LABEL = "megtrim-regression"
_VERSION = 1
_LONGEST_BODY = 60_000
"""GitHub refuses more than 65,536 characters."""
_MOST_ROWS = (20, 5, 1)
_MOST_REMARKS = 10
_MOST_FUNCTIONS = 10
_LONGEST_TITLE = 120
_LONGEST_COMMAND = 2_000
_MOST_COMMANDS = 3
_BASE_FOLDER = "../megtrim-base"
_COMMIT_DIGITS = 12
_DAY = len("2026-11-23")
_MARK = "<!-- megtrim:regression:v1 "
_END = " -->"
_HEAD = ("experiment", "change", "against", "device", "ratio>", "time (ms)>")

_HOW_IT_ENDS = (
    "megtrim closes this issue on the first night on which the scenario is as fast as before; a "
    "night without a clear answer changes nothing. Close it by hand to accept the new time."
)
_MEASURED_ENDS = (
    "megtrim closes this issue on the first night on which the scenario is measured. Close it by "
    "hand to accept that it is not."
)
_MEASURED_AGAIN = "**Measured again** at {commit}, and this issue is closed."
_REPAIRED = "**Repaired**: as fast as before at {commit}, and this issue is closed."
_DOUBLE = "Another open issue is about this scenario; this one is closed."


class NightPlace(Value):
    repository_url: str
    run_url: str
    artifact: str
    head: str
    base: str = ""
    """Commit that this night was compared with; empty: none."""
    budgets: tuple[BudgetRow, ...] = ()


class IssueText(Value):
    title: str
    body: str


def render_issue(action: IssueAction, where: NightPlace) -> IssueText:
    record = action.record
    body = ""
    for most in _MOST_ROWS:
        ends = _MEASURED_ENDS if record.measured else _HOW_IT_ENDS
        told = (
            _tell_silence(action, where, most) if record.measured else _parts(action, where, most)
        )
        parts = [*told, f"*{ends}*", _write_record(record)]
        body = "\n\n".join(part for part in parts if part)
        if len(body) <= _LONGEST_BODY:
            break
    return IssueText(title=_title(record), body=body)


def read_record(body: str) -> RegressionRecord | None:
    line = body.replace("\r\n", "\n").rstrip().rpartition("\n")[2]
    if not (line.startswith(_MARK) and line.endswith(_END)):
        return None
    text = line.removeprefix(_MARK).removesuffix(_END)
    try:
        record = load(RegressionRecord, text, source="issue", version=_VERSION, hint="")
    except InputError:
        return None
    commits = (record.base, record.last_good, record.first_bad)
    return record if all(not each or COMMIT_DIGEST.fullmatch(each) for each in commits) else None


def _write_record(record: RegressionRecord) -> str:
    text = " ".join(dump(record).split("\n")).strip()
    # Nothing in it may end the comment of HTML; JSON reads an escape as the same character.
    inert = text.replace("<", "\\u003c").replace(">", "\\u003e")
    return f"{_MARK}{inert}{_END}"


def _title(record: RegressionRecord) -> str:
    """Return plain letters: GitHub looks for names and code in titles, too."""
    name, _, cpu_class = one_line(record.scenario).partition("@")
    what = "is not measured" if record.measured else "got slower"
    text = f"{name} on {cpu_class} {what}" if cpu_class else f"{name} {what}"
    of = f"{id_}: " if (id_ := id_of(record.config)) else ""
    return f"{of}{re.sub(r'[^A-Za-z0-9._/ -]', '_', text)}"[:_LONGEST_TITLE]


def _tell_silence(action: IssueAction, where: NightPlace, most: int) -> Iterator[str]:
    record = action.record
    if record.state is IssueState.FIXED:
        yield _MEASURED_AGAIN.format(commit=code(where.head[:_COMMIT_DIGITS]))
    else:
        when = record.measured[:_DAY]
        commit = code(record.last_good[:_COMMIT_DIGITS])
        yield (
            f"No night has a time of {code(record.scenario)} since {code(when)}, at {commit}: "
            "whether it got slower is not known."
        )
        yield "Look at its device first: `megtrim devices check` shows what is wrong with it."
    if action.rows:
        cells = [
            (code(row.subject), code(row.device), prose(row.reason)) for row in action.rows[:most]
        ]
        yield table(("comparison", "device", "why it has no time"), cells)
    if night := link("The night", where.run_url):
        yield f"{night} keeps its page as artifact {code(where.artifact)}."


def _parts(action: IssueAction, where: NightPlace, most: int) -> Iterator[str]:
    record = action.record
    rows = action.rows[:most]
    scenario = code(record.scenario)
    match record.state:
        case IssueState.FIXED:
            yield _REPAIRED.format(commit=code(where.head[:_COMMIT_DIGITS]))
        case IssueState.DUPLICATE:
            yield _DOUBLE
        case IssueState.REGRESSED:
            yield f"{scenario} got slower by more than the threshold."
    if rows:
        yield table(_HEAD, [cells for row in rows for cells in _cells(row)])
    if action.rows[most:]:
        yield f"*{len(action.rows) - most:,} more rows in the report.*"
    said = [f"left out: {each.count} samples, {each.reason}" for r in rows for each in r.left_out]
    said += [condition for row in rows for condition in row.conditions]
    remarks = [code(fromkey) for fromkey in dict.fromkeys(said)][:_MOST_REMARKS]
    yield "\n".join(f"- {text}" for text in remarks)
    yield _suspects(record, where)
    yield _compare_work(record, where)
    yield from _reproduce(rows, record)
    if night := link("The night", where.run_url):
        yield f"{night} keeps its page as artifact {code(where.artifact)}."


def _cells(row: Row) -> Iterator[tuple[str, ...]]:
    for name, ratio, time in _comparisons(row):
        yield (
            name,
            direction(ratio),
            code(ratio.name) or str(ratio.against),
            code(row.device),
            f"**{ratio_with_interval(ratio)}**" if ratio.regressed else ratio_with_interval(ratio),
            time_with_interval(time) if time else "",
        )


def _comparisons(row: Row) -> Iterator[tuple[str, RatioResult, StageTime | None]]:
    if isinstance(row, TrimmingRow):
        for variant in row.variants:
            if variant.ratio:
                yield code(f"{row.artifact} {variant.variant}"), variant.ratio, variant.time
        return
    times = {time_s.stage: time_s for time_s in row.times}
    for ratio in row.ratios:
        if ratio.against is not Reference.BASELINE:
            stage = "" if ratio.stage.decides else f" {ratio.stage}"
            yield code(row.experiment) + stage, ratio, times.get(ratio.stage)


def _suspects(record: RegressionRecord, where: NightPlace) -> str:
    if not record.last_good or record.last_good == record.first_bad:
        return ""
    good = record.last_good
    bad = record.first_bad
    span = f"after {code(good[:_COMMIT_DIGITS])}, up to {code(bad[:_COMMIT_DIGITS])}"
    compared = link("compare", f"{where.repository_url}/compare/{good}...{bad}")
    shown = f" ({compared})" if compared else ""
    listing = block(f"git log --oneline {good}..{bad}")
    return f"### Suspected commits\n\nIt came {span}{shown}.\n\n{listing}"


def _compare_work(record: RegressionRecord, where: NightPlace) -> str:
    if not where.base or not record.base or record.state is not IssueState.REGRESSED:
        return ""
    base, head = (code(each[:_COMMIT_DIGITS]) for each in (where.base, where.head))
    ours = name_subject(record.scenario, str(Variant.PLAIN), WORK)
    row = next((each for each in where.budgets if each.subject == ours), None)
    if row is None:
        said = f"Not counted: {code(record.config)} has no `work`."
    elif row.work is None or row.used is None:
        said = f"Not compared with {base}: {prose(row.note)}."
    elif not row.work.changed:
        said = (
            f"No function that is counted does more or less at {head} than at {base}: look at "
            "memory, waiting, the frequency and the machine."
        )
    else:
        named = row.name_changes(_MOST_FUNCTIONS, code)
        said = f"{prose(row.limit_text)}; by the scenario's own command line{named}."
    return f"### Instructions\n\n{said}"


def _reproduce(rows: tuple[Row, ...], record: RegressionRecord) -> Iterator[str]:
    prepare: list[str] = []
    compared = ""
    if record.base:
        config = shlex.quote(f"{_BASE_FOLDER}/{one_line(record.config)}")
        prepare = [
            f"git worktree add {_BASE_FOLDER} {record.base}",
            f"git -C {_BASE_FOLDER} submodule update --init --recursive",
            f"megtrim stage build --committed --config {config} --out {_BASE_FOLDER}-out",
        ]
        compared = f" --base {_BASE_FOLDER}-out"
    commands: list[str] = []
    for row in rows:
        if not row.reproduce:
            continue
        text = command(row.reproduce, limit=_LONGEST_COMMAND)
        if isinstance(row, PerformanceRow):
            text += compared
        if text not in commands:
            commands.append(text)
    if commands:
        text = "\n".join([*prepare, *commands[:_MOST_COMMANDS]])
        yield f"### To reproduce\n\n{block(text, limit=5 * _LONGEST_COMMAND)}"
