"""What a step passes to its runner: outputs, the job summary, annotations, text in its log.

No value may contain what a runner would take for its end or for a command.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from megtrim.libs.util.errors import InputError

LARGEST_SUMMARY_BYTES = 1008 * 1024
"""GitHub silently drops the whole summary of a step that has 1 MiB; some KiB are kept free."""
LARGEST_OUTPUT_BYTES = 1008 * 1024
"""Of one output, as UTF-16: all outputs of a job together end at 1 MiB."""
LONGEST_MESSAGE = 4_000
_LONGEST_PROPERTY = 250
LEVELS = ("error", "warning", "notice")
_OUTPUT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,99}")
HOSTED = "ubuntu-24.04"
"""What builds unless the workflow says otherwise, and always for a fork."""
_LABEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", re.ASCII)
_MOST_LABELS = 20
_CUT = "\n\n_The rest does not fit a job summary; the report holds all of it._\n"


def write_output(env: Mapping[str, str], name: str, value: str) -> None:
    """Pass ``value`` to later steps, if GITHUB_OUTPUT names a file for it."""
    if not _OUTPUT_NAME.fullmatch(name):
        msg = f"not the name of an output: {name!r}"
        raise ValueError(msg)
    if 2 * len(value) > LARGEST_OUTPUT_BYTES:
        msg = f"output {name}: found {len(value)} characters, expected at most half a million"
        raise InputError(msg, hint="make fewer or shorter names: a job's outputs end at 1 MB")
    # No value contains its own digest, so none can end itself and start another output.
    end = f"end-{hashlib.sha256(value.encode('utf-8', 'backslashreplace')).hexdigest()}"
    _append(env, "GITHUB_OUTPUT", f"{name}<<{end}\n{value}\n{end}\n")


def add_summary(env: Mapping[str, str], text: str) -> None:
    if not env.get("GITHUB_STEP_SUMMARY"):
        return
    room = LARGEST_SUMMARY_BYTES
    with suppress(OSError):  # it does not exist yet; any other problem shows when it is written
        room -= Path(env["GITHUB_STEP_SUMMARY"]).stat().st_size
    data = f"{text.rstrip()}\n".encode("utf-8", "backslashreplace")
    if len(data) > room:
        fits = data[: max(0, room - len(_CUT))]
        fits = fits[: fits.rfind(b"\n") + 1]
        data = fits.rstrip() + _CUT.encode() if fits else b""
    _append(env, "GITHUB_STEP_SUMMARY", data.decode("utf-8"))


def annotation(level: str, message: str, *, title: str, file: str = "", line: int = 0) -> str:
    if level not in LEVELS:
        msg = f"not a level of an annotation: {level!r}"
        raise ValueError(msg)
    line_text = str(line) if file and line > 0 else ""
    properties = {"file": file, "line": line_text, "title": title}
    short = {key: _data(text[:_LONGEST_PROPERTY]) for key, text in properties.items() if text}
    given = ",".join(f"{k}={v.replace(':', '%3A').replace(',', '%2C')}" for k, v in short.items())
    # A runner reports an annotation without a message as an error of the step.
    return f"::{level} {given}::{_data((message or title)[:LONGEST_MESSAGE])}"


def _data(text: str) -> str:
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return "".join(c if c.isprintable() else " " for c in escaped)


def _append(env: Mapping[str, str], variable: str, text: str) -> None:
    name = env.get(variable, "")
    if not name:
        return
    path = Path(name)
    try:
        with path.open("a", encoding="utf-8", errors="backslashreplace", newline="") as stream:
            stream.write(text)
    except OSError as error:
        from megtrim.libs.util.files import cannot_write

        raise cannot_write(path, error) from None


def parse_build_runner(text: str) -> tuple[str, ...]:
    """Return the labels of the runner that a workflow's input asks for. Raises InputError.

    GitHub chooses the runner before a step of ours could object; what it was asked for is checked
    where the verdict is made, which is always on GitHub's own machine.
    """
    labels: list[Any] = [text]
    if text.startswith("["):
        try:
            labels = json.loads(text)
        except (ValueError, RecursionError):
            labels = []
    plain = all(isinstance(label, str) and _LABEL.fullmatch(label) for label in labels)
    if not plain or not 0 < len(labels) <= _MOST_LABELS:
        found = repr(text[:80])
        expected = "a label or a JSON list of labels"
        msg = f"the input build-runner: found {found}, expected {expected}"
        raise InputError(msg, hint='such as linux-16, or ["self-hosted", "builder"]')
    return tuple(labels)


def describe_fork(text: str) -> str:
    """Return a line for the verdict of a fork's change; empty if it got the runner of the team."""
    labels = parse_build_runner(text)
    if labels == (HOSTED,):
        return ""
    return (
        f"built on {HOSTED}, not on {', '.join(labels)}: "
        "a pull request from a fork gets no other runner"
    )
