"""``megtrim demo``: a trim of the sample engine, which comes with megtrim, for its three models."""

from contextlib import redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import click

from megtrim.core.chain.filenames import FINAL_FOLDER, PAGE_FILE, VERDICT_FILE
from megtrim.core.cli.echo import show_summary
from megtrim.core.cli.verbs import trim
from megtrim.core.project import find_embedded
from megtrim.core.report.table import render_sizes
from megtrim.core.verdict.model import Verdict, parse_verdict
from megtrim.core.verdict.wording import DEFERRED
from megtrim.libs.util.errors import worst_exit_code
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.limits import ENDING_FILE

CONFIG = "functions.yaml"
DEFERRING_CONFIG = "deferred.yaml"


def demo(context: click.Context, /, **values: Any) -> int:
    source = find_embedded()
    out = Path(values["out"])
    if values["as_json"]:
        status: int = context.invoke(trim, config=source / CONFIG, **values)
        return status
    runs = []
    for name in (DEFERRING_CONFIG, CONFIG):
        with redirect_stdout(StringIO()) as said:
            status = context.invoke(trim, config=source / name, **values)
        verdict = _read(out)
        if verdict is None:
            return status
        runs.append((status, said.getvalue(), verdict))
    (deferred, wrong, deferring), (status, text, functions) = runs
    if deferred != status:
        show_summary(wrong)
    both = _join(functions, deferring)
    _write_page(both, out)
    table, blank, others = text.partition("\n\n")
    shown = render_sizes(both.artifacts[0], both.trim, both) if blank else table
    show_summary(f"{shown}{blank}{others}".rstrip("\n"))
    return worst_exit_code([deferred, status])


def _read(out: Path) -> Verdict | None:
    """None: the run ended before it had one."""
    file = out / FINAL_FOLDER / VERDICT_FILE
    if file.with_name(ENDING_FILE).exists() or not file.exists():
        return None
    return parse_verdict(file.read_text("utf-8"), source=str(file))


def _write_page(both: Verdict, out: Path) -> None:
    from megtrim.core.report import html

    write_atomically(out / FINAL_FOLDER / PAGE_FILE, html.render(both))


def _join(functions: Verdict, deferring: Verdict) -> Verdict:
    """Return the first with the program of the other, to compare them."""
    artifact, *others = functions.artifacts
    row = replace(deferring.artifacts[0].sizes[-1], variant=DEFERRED)
    both = replace(artifact, sizes=(*artifact.sizes, row))
    return replace(functions, artifacts=(both, *others))
