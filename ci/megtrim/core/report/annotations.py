"""The few lines that a code host shows next to the changed files: what failed, what is unknown.

GitHub shows ten errors and ten warnings of a step and drops the rest silently. A runner adds some
of its own, so the eighth says how many more there are. The caller must escape them. Pure.
"""

from enum import StrEnum

from megtrim.core.checks.check import Check
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.config.config_id import split
from megtrim.core.report.findings import describe_check
from megtrim.core.verdict.model import Verdict
from megtrim.core.verdict.wording import list_urgent
from megtrim.libs.render.formatting import group_digits
from megtrim.libs.render.markup import command, one_line, path_in_project, path_in_repository
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import cut

MOST_OF_A_LEVEL = 8
"""Per level and step."""

_LONGEST_TITLE = 150
_LONGEST_SENTENCE = 400
_LONGEST_COMMAND = 500


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Annotation(Value):
    level: Level
    file: str
    """Path from the top of the repository."""
    line: int
    title: str
    message: str


def annotate(verdict: Verdict, config: str) -> tuple[Annotation, ...]:
    levels: dict[Level, list[Check]] = {level: [] for level in Level}
    pending: set[str] = set()
    for check in list_urgent(verdict):
        waits = check.kind is CheckKind.DEVICE and check.status is CheckStatus.UNVERIFIED
        if waits and check.text in pending:
            continue
        if waits:
            pending.add(check.text)
        level = Level.ERROR if check.status is CheckStatus.FAIL else Level.WARNING
        levels[level].append(check)
    return tuple(
        annotation
        for level, checks in levels.items()
        for annotation in _limit_annotations(level, checks, verdict, config)
    )


def _limit_annotations(
    level: Level, checks: list[Check], verdict: Verdict, config: str
) -> list[Annotation]:
    if len(checks) <= MOST_OF_A_LEVEL:
        return [_annotation(level, check, verdict, config) for check in checks]
    shown = MOST_OF_A_LEVEL - 1
    further = Annotation(
        level=level,
        file=path_in_project(split(config)[0]),
        line=1,
        title=f"megtrim: {group_digits(len(checks) - shown)} more",
        message=f"{group_digits(len(checks) - shown)} more {level}s are in the report of this run",
    )
    return [*(_annotation(level, check, verdict, config) for check in checks[:shown]), further]


def _annotation(level: Level, check: Check, verdict: Verdict, config: str) -> Annotation:
    seen = cut(describe_check(check, verdict), _LONGEST_TITLE)
    text = one_line(check.text, limit=_LONGEST_SENTENCE) or f"{check.kind} {check.status}"
    parts = [] if seen.endswith(f": {text}") and check.hint else [text]
    if check.hint:
        parts.append(f"What to do: {one_line(check.hint, limit=_LONGEST_COMMAND)}")
    if check.reproduce:
        parts.append(f"To reproduce: {command(check.reproduce, limit=_LONGEST_COMMAND)}")
    return Annotation(
        level=level,
        file=path_in_repository(check.file, config),
        line=check.line,
        title=f"megtrim {check.status}: {seen}",
        message=". ".join(parts),
    )
