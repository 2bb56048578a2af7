"""Stage `report`: the verdict as JUnit, Markdown and HTML."""

from pathlib import Path

from megtrim.core.chain.filenames import PAGE_FILE, VERDICT_FILE
from megtrim.core.chain.graph import VERDICT, Task
from megtrim.core.chain.session import Session
from megtrim.core.verdict.model import ReportResult, parse_verdict


def inputs(task: Task, session: Session) -> dict[str, str]:
    return {"verdict": session.done[VERDICT].files[VERDICT_FILE]}


def work(task: Task, session: Session, folder: Path) -> ReportResult:
    from megtrim.core.report import comment, html, junit

    source = session.done[VERDICT].file(VERDICT_FILE)
    verdict = parse_verdict(source.read_text(encoding="utf-8"), source=str(source))
    for name, text in (
        ("junit.xml", junit.render(verdict)),
        ("report.md", comment.render(verdict, measured=True)),
        (PAGE_FILE, html.render(verdict)),
    ):
        (folder / name).write_text(text, encoding="utf-8")
    return ReportResult()
