"""Runs the engine's own dump in the Python that has the engine's package.

It yields a model file and its operator JSON. Both are read back and compared with each other before
the dump counts as successful.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from megtrim.engines.megengine import dump_driver
from megtrim.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.models.facts import ModelFacts
from megtrim.models.needs import load_needs
from megtrim.models.reader import read_model
from megtrim.process import Command, ProcessRunner

Option = bool | int | float | str

OWN_OPTIONS = ("file", "strip_info_file", "append", "append_json")
"""Options of the engine's dump that megtrim sets itself."""

_LONGEST_S = 2 * 3600.0
_SHOWN_LINES = 12
_LARGEST_REPORT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpSpec:
    """What to dump, with which Python."""

    script: Path
    function: str
    options: Mapping[str, Option]
    python: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpResult:
    """The files of a dump, and what was read back from them."""

    model: Path
    strip_info: Path
    facts: ModelFacts
    tools: Mapping[str, str]
    """Versions of the engine's package and of Python."""
    warnings: tuple[str, ...]


def run(spec: DumpSpec, processes: ProcessRunner, folder: Path) -> DumpResult:
    """Dump into the empty ``folder``.

    Raises InputError if the package or the function is missing, or the script fails, and
    ProductFailure if the dump succeeds without a model and a JSON that fits it.
    """
    model, strip_info, report = folder / "model.mge", folder / "model.json", folder / "report.json"
    # Copied, because Python looks for modules in its script's folder first.
    driver = Path(shutil.copy(dump_driver.__file__, folder / "driver.py"))
    outcome = processes.run(
        Command(
            argv=(
                *(spec.python, str(driver), str(spec.script)),
                *(spec.function, str(model), str(strip_info), str(report)),
                json.dumps(dict(spec.options), sort_keys=True),
            ),
            timeout_s=_LONGEST_S,
        )
    )
    if outcome.timed_out:
        msg = f"the dump of {spec.script} did not finish within {_LONGEST_S:.0f} s"
        raise InfrastructureFailure(msg, hint="does the script train the model, too?")
    if not outcome.ok:
        raise _failure(spec, outcome.rc, outcome.stderr)
    return _read_back(model, strip_info, report)


def _failure(spec: DumpSpec, rc: int, stderr: str) -> InputError:
    lines = [line for line in stderr.splitlines() if line.strip()] or [f"it exited with {rc}"]
    if rc == dump_driver.NO_PACKAGE:
        msg = f"{spec.python} has no Python package of the engine: {lines[-1]}"
        return InputError(
            msg,
            hint="it is no longer on PyPI: build it from the engine's tree (scripts/whl), "
            "and name its Python with --python",
        )
    if rc == dump_driver.NO_FUNCTION:
        msg = f"{spec.script}: {spec.function} neither is nor returns a traced function"
        hint = "return a function under megengine.jit.trace(capture_as_const=True), called once"
        return InputError(msg, hint=hint)
    shown = "\n".join(f"  {line}" for line in lines[-_SHOWN_LINES:])
    msg = f"{spec.script}: the dump exited with {rc}:\n{shown}"
    return InputError(msg, hint="fix the script or the --option that it names")


def _read_back(model: Path, strip_info: Path, report: Path) -> DumpResult:
    for path, what in ((model, "model"), (strip_info, "operator JSON")):
        if not path.is_file() or path.stat().st_size == 0:
            msg = f"the engine's dump succeeded, but wrote no {what}"
            raise ProductFailure(msg, hint="does this engine's dump have strip_info_file?")
    try:
        facts = read_model(model)
        _, warnings = load_needs(model, (strip_info,))
    except InputError as error:
        reason = error.message.replace(f"{model.parent}/", "")
        msg = f"the engine's dump succeeded, but its files are not usable: {reason}"
        raise ProductFailure(msg) from None
    plain = tuple(each.replace(f"{model.parent}/", "") for each in warnings)
    return DumpResult(
        model=model, strip_info=strip_info, facts=facts, tools=_tools(report), warnings=plain
    )


def _tools(report: Path) -> dict[str, str]:
    """Return the versions that the driver reports; a script may have written anything there."""
    try:
        with report.open(encoding="utf-8") as stream:
            versions = json.loads(stream.read(_LARGEST_REPORT_BYTES))
        return {name: str(versions[name])[:100] for name in ("megengine", "python")}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        msg = "the engine's dump did not finish: it left no report"
        raise ProductFailure(msg, hint="does the script exit the interpreter?") from None
