"""``megtrim dump``: a model made by the engine's own dump, its operator JSON, and a manifest.

Nothing is kept from one dump to the next: a script may read whatever it likes, so no inputs that
could be named would say that it yields the same again.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import shutil
import sys
import tempfile
from pathlib import Path

import click

from megtrim.cli.echo import complain, show
from megtrim.cli.session.environment import open_processes
from megtrim.engines.megengine import dump as dumping
from megtrim.engines.megengine.dump import DumpResult, DumpSpec, Option
from megtrim.errors import EXIT_PASS, InputError
from megtrim.models.show import describe
from megtrim.store import cannot_write, sha256_file, write_atomically

_OPTION = re.compile(r"([A-Za-z][A-Za-z0-9_-]{0,99})(?:=(.*))?", re.DOTALL)
_FUNCTION = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@click.command(
    epilog="""\b
Examples:
  megtrim dump models/resnet50.py:traced --output models/resnet50.mge
  megtrim dump net.py:traced --output net.mge --option enable_nchw44 --option dump_format=FBS
  megtrim dump net.py:traced --output net.mge --python ~/megengine/bin/python
"""
)
@click.argument("what", metavar="SCRIPT:FUNCTION")
@click.option(
    *("--output", "-o"),
    type=click.Path(path_type=Path),
    required=True,
    metavar="FILE",
    help="File to write the model to; FILE.json and FILE.manifest.json are written next to it.",
)
@click.option(
    *("--option", "options"),
    multiple=True,
    metavar="NAME[=VALUE]",
    help="Option of the engine's trace.dump, such as enable_nchw44; repeatable.",
)
@click.option(
    "--python",
    metavar="PATH",
    help="Python that has the engine's package. Default: the one that runs megtrim.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the manifest as JSON.")
def dump(
    what: str, output: Path, options: tuple[str, ...], python: str | None, as_json: bool
) -> int:
    """Dump a model with the engine's own Python package, and write its operator JSON.

    FUNCTION is a traced function that was called once, or returns one.
    """
    script, function = _target(what)
    spec = DumpSpec(
        script=script,
        function=function,
        options=parse_options(options),
        python=python or sys.executable,
    )
    with tempfile.TemporaryDirectory(prefix="megtrim-dump-") as folder:
        dumped = dumping.run(spec, open_processes(), Path(folder))
        for warning in dumped.warnings:
            complain(f"warning: {warning}")
        manifest = _leave(spec, dumped, output)
    facts = describe(dumped.facts, sha256=sha256_file(output))
    show(manifest if as_json else f"{facts}\nwrote {output}")
    return EXIT_PASS


def _target(what: str) -> tuple[Path, str]:
    script, _, function = what.rpartition(":")
    if not script or _FUNCTION.fullmatch(function) is None:
        msg = f"found {what[:200]!r}, expected SCRIPT:FUNCTION"
        raise InputError(msg, hint="for example models/resnet50.py:traced")
    path = Path(script)
    if not path.is_file():
        msg = f"{script}: no such file, expected a Python script"
        raise InputError(msg)
    return path, function


def parse_options(words: tuple[str, ...]) -> dict[str, Option]:
    """Return options by name, as Python has them; a name alone is True. Raises InputError."""
    options: dict[str, Option] = {}
    for word in words:
        match = _OPTION.fullmatch(word.removeprefix("--"))
        if match is None:
            msg = f"--option: found {word[:200]!r}, expected NAME or NAME=VALUE"
            raise InputError(msg, hint="for example --option enable_nchw44")
        name = match[1].replace("-", "_")
        if name in dumping.OWN_OPTIONS:
            msg = f"--option: {name} is set by megtrim itself"
            raise InputError(
                msg, hint="--output names the file of the model; its JSON is next to it"
            )
        if name in options:
            msg = f"--option: found {name} a second time, expected each option once"
            raise InputError(msg)
        options[name] = True if match[2] is None else _value(match[2])
    return options


def _value(text: str) -> Option:
    try:
        value = json.loads(text.lower())
        return value if isinstance(value, int | float) and math.isfinite(value) else text
    except (ValueError, OverflowError, RecursionError):
        return text


def _leave(spec: DumpSpec, dumped: DumpResult, output: Path) -> str:
    """Put model, JSON and manifest in place, the manifest last; return its text."""
    strip_info = output.with_name(f"{output.name}.json")
    manifest = output.with_name(f"{output.name}.manifest.json")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        manifest.unlink(missing_ok=True)  # it describes files that are replaced now
        for source, target in ((dumped.model, output), (dumped.strip_info, strip_info)):
            aside = target.with_name(f".{target.name}.tmp")
            shutil.copyfile(source, aside)
            aside.replace(target)
    except OSError as error:
        raise cannot_write(output, error) from None
    facts = dataclasses.asdict(dumped.facts)
    document = {
        "version": 1,
        "script": {"name": spec.script.name, "sha256": sha256_file(spec.script)},
        "function": spec.function,
        "options": dict(sorted(spec.options.items())),
        "tools": dict(dumped.tools),
        "files": {
            each.name: {"sha256": sha256_file(each), "bytes": each.stat().st_size}
            for each in (output, strip_info)
        },
        "model": {key: facts[key] for key in ("format", "graph_hash", "operators", "dtypes")},
    }
    text = json.dumps(document, indent=1, ensure_ascii=False) + "\n"
    write_atomically(manifest, text)
    return text.rstrip("\n")
