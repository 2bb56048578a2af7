"""``megtrim size ratchet``: lower limits for what shrank, as the last verdict proposes them."""

from __future__ import annotations

from pathlib import Path

import click

from megtrim.cli.echo import show
from megtrim.cli.options import CONFIG_HELP, DEFAULT_OUT
from megtrim.config.load import LoadedConfig, load_config
from megtrim.config.units import format_bytes
from megtrim.config.yaml.document import LARGEST_FILE_BYTES
from megtrim.config_id import split
from megtrim.errors import EXIT_PASS, InputError
from megtrim.input_files import read_bytes, read_text
from megtrim.json_text import LARGEST_DOCUMENT
from megtrim.pipeline.filenames import FINAL_FOLDER, VERDICT_FILE
from megtrim.report.text import command, one_line
from megtrim.size.ratchet import lower_limit
from megtrim.store import write_atomically
from megtrim.verdict.model import BudgetRow, Verdict, parse_verdict


@click.command(
    "ratchet",
    epilog="""\b
Examples:
  megtrim size ratchet
  megtrim size ratchet --write
  megtrim size ratchet --verdict megtrim-report/verdict.json --write
""",
)
@click.option(
    *("--config", "-c"),
    type=click.Path(path_type=Path),
    default=Path("megtrim.yaml"),
    show_default=True,
    help=CONFIG_HELP,
)
@click.option(
    "--verdict",
    "verdict_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"The verdict that proposes them; by default {DEFAULT_OUT}/{FINAL_FOLDER}/{VERDICT_FILE}.",
)
@click.option("--write", is_flag=True, help="Change these numbers in the configuration.")
def ratchet(config: Path, verdict_file: Path | None, write: bool) -> int:
    """Show the lower limits that the last verdict proposes for what shrank.

    With --write, each number is replaced in the configuration, and nothing else there changes. A
    limit that is no longer what the verdict was made with stays as it is.
    """
    loaded = load_config(config)
    verdict = _read_verdict(verdict_file or _default_verdict(config))
    if verdict.config != loaded.path.name:
        found = one_line(verdict.config)
        msg = f"the verdict is of the configuration {found}, expected {loaded.path.name}"
        raise InputError(msg, hint="name the verdict of this configuration with --verdict")
    count = sum(_lower(row, loaded, write=write) for row in verdict.budgets if row.ratchet)
    if not count:
        show("no limit could be lower")
    elif not write:
        show("nothing is changed without --write")
    return EXIT_PASS


def _default_verdict(config: Path) -> Path:
    _, toolchain = split(str(config))
    return Path(DEFAULT_OUT, toolchain, FINAL_FOLDER, VERDICT_FILE)


def _read_verdict(path: Path) -> Verdict:
    hint = "`megtrim trim` makes one; --verdict names another"
    expected = "a verdict"
    text = read_text(path, most_bytes=LARGEST_DOCUMENT, expected=expected, hint=hint)
    return parse_verdict(text, source=str(path))


def _lower(row: BudgetRow, loaded: LoadedConfig, *, write: bool) -> bool:
    """Show one lower limit, and set it; return whether there was one to set."""
    index = next(
        (
            index
            for index, each in enumerate(loaded.config.budgets)
            if (each.artifact, str(each.variant), each.measure)
            == (row.artifact, row.variant, row.measure)
            and each.max_size is not None
            and each.max_size.size_bytes == row.max_bytes
        ),
        None,
    )
    if index is None or row.ratchet is None or row.max_bytes is None:
        show(f"{one_line(row.subject)}: its limit has changed since the verdict, so it stays")
        return False
    most_bytes = row.ratchet.max_bytes
    if not row.size_bytes <= most_bytes < row.max_bytes:
        msg = f"{one_line(row.subject)}: found a proposal of {most_bytes:,} bytes"
        msg_0 = f"{msg}, expected one between its size and its limit"
        raise InputError(msg_0)
    path, key = loaded.source("budgets", index, "max")
    raw = read_bytes(path, most_bytes=LARGEST_FILE_BYTES, expected="a configuration")
    lowered = lower_limit(raw, key, most_bytes, file=str(path))
    limits = f"{format_bytes(row.max_bytes)} → {format_bytes(most_bytes)}"
    show(f"{path}:{lowered.line}: {limits}\n  {command(lowered.text)}")
    if write:
        write_atomically(path.resolve(), lowered.raw.decode())
    return True
