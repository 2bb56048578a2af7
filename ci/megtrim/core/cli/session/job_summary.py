"""What people see of a report folder: one page of Markdown, and annotations of changed files.

An incomplete folder gives a page, too: people have to read about a job that ended early.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from megtrim.core.build_spec import Origin
from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.checks.statuses import VERDICT_SIGNS, VerdictKind
from megtrim.core.config.config_id import id_of, is_inside, split
from megtrim.core.evidence.fields import EarlyExit, parse_ending
from megtrim.core.report.annotations import Annotation, Level, annotate
from megtrim.core.report.comment import Links, close, render
from megtrim.core.verdict.model import Verdict, parse_verdict
from megtrim.libs.render.markup import block, code, one_line, prose
from megtrim.libs.util.errors import InfrastructureFailure, MegtrimError
from megtrim.libs.util.input_files import read_bytes
from megtrim.libs.util.json_text import LARGEST_DOCUMENT
from megtrim.libs.util.limits import ENDING_FILE
from megtrim.libs.util.value import Value

COMMENT_FILE = "comment.md"
_LARGEST_PAGE = 1024 * 1024
_LONGEST_ENDING = 4_000
_LONGEST_TITLE = 300
_UNKNOWN = Origin()
_ENDED = "megtrim ended before a verdict"
_NOTHING = """\
## ⚠️ megtrim: no report{of}, so nothing is known

The build job left no report, so nothing is known about the size of this change. Its log says why.
"""

T = TypeVar("T")


class SummaryPage(Value):
    text: str
    annotations: tuple[Annotation, ...]
    problems: tuple[MegtrimError, ...]


def read_page(report: Path, *, config: str, links: Links, known: Origin = _UNKNOWN) -> SummaryPage:
    problems: list[MegtrimError] = []

    def read(name: str, parse: Callable[..., T], most: int) -> T | None:
        path = report / name
        try:
            if not path.exists():
                return None
            data = read_bytes(path, most_bytes=most, expected="a file that megtrim wrote")
            return parse(data.decode("utf-8", errors="replace"), source=str(path))
        except MegtrimError as error:
            problems.append(error)
            return None

    ending = read(ENDING_FILE, parse_ending, _LARGEST_PAGE)
    verdict = read(VERDICT_FILE, parse_verdict, LARGEST_DOCUMENT)
    ended_since = (report / ENDING_FILE).exists()
    if verdict is not None and not ended_since:
        annotations = annotate(verdict, config if is_inside(config) else verdict.config)
        text = render(confirm_origin(verdict, known), links=links)
        return SummaryPage(text=text, annotations=annotations, problems=())
    left = read(COMMENT_FILE, lambda text, **_: text, _LARGEST_PAGE)
    of = f" for {code(known.project)}" if known.project else ""
    of += f" ({code(config)})" if id_of(config) else ""
    ended = _NOTHING.format(of=of) if ending is None else _ending_page(ending, of)
    last = close(known, links)
    return SummaryPage(
        text=left or (f"{ended}\n{last}\n" if last else ended),
        annotations=() if ending is None else (_ending_annotation(ending, config),),
        problems=tuple(problems),
    )


def confirm_origin(verdict: Verdict, known: Origin) -> Verdict:
    return replace(verdict, origin=verdict.origin.confirm(known))


def _ending_page(ending: EarlyExit, of: str) -> str:
    found_nothing = ending.exit == InfrastructureFailure.exit_code
    sign = VERDICT_SIGNS[VerdictKind.UNVERIFIED if found_nothing else VerdictKind.FAIL]
    first = ending.message.partition("\n")[0]
    title = f"## {sign} {_ENDED}{of}: {prose(one_line(first, limit=_LONGEST_TITLE))}"
    return f"{title}\n\n{block(str(ending), limit=_LONGEST_ENDING)}\n"


def _ending_annotation(ending: EarlyExit, config: str) -> Annotation:
    message = one_line(str(ending), limit=_LONGEST_ENDING)
    annotation = Annotation(level=Level.ERROR, file="", line=0, title=_ENDED, message=message)
    return replace(annotation, file=split(config)[0]) if is_inside(config) else annotation
