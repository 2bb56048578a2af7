"""``megtrim ci github names`` and ``logs``: what artifacts are called, and the logs in one."""

import re
from collections.abc import Mapping
from pathlib import Path

from megtrim.core.chain.result_store import MANIFEST, code_digest
from megtrim.core.cli.echo import show
from megtrim.core.cli.environment import open_processes, read_cache_variables
from megtrim.core.config.config_id import id_of, infix_of, is_inside, split, suffix_of
from megtrim.hosting.github.runner import write_output
from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.files import write_atomically

_NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9._-]+")
LARGEST_BYTES = 512 * 1024
"""Of one log; the end is kept, which shows the failure."""
MOST_LOGS = 8
_LOG = "build.log"
_CUT = "... the beginning was left out: {} bytes\n"
_BEFORE_BYTES = 8 * 1024
"""Read before the part that is kept: a cut could leave half a password, which nothing finds."""
_OPENS = re.compile(r"(?<=://)[^/\s]{1,2000}@")
_TOKEN = re.compile(r"(?<=\|)(bearer-token|header)=[^|\s]{1,2000}")
"""The step that copies does not get the password itself: it is recognised by its place."""


def names(config: str) -> int:
    if not is_inside(config):
        msg = f"--config: found {config}, expected a path from the top of the repository"
        raise InputError(msg, hint="name it without a leading / and without ..")
    env = open_processes().env
    write_output(env, "file", split(config)[0])
    write_output(env, "suffix", suffix_of(config))
    write_output(env, "infix", infix_of(config))
    write_output(env, "megtrim", code_digest())
    write_output(env, "release", _name_release(env, config))
    show(f"configuration {config}: {id_of(config) or 'the default one'}")
    return EXIT_PASS


def _name_release(env: Mapping[str, str], config: str) -> str:
    kind, _, tag = env.get("GITHUB_REF", "").removeprefix("refs/").partition("/")
    if kind != "tags":
        return ""
    from megtrim.ship.release.archive import ARCHIVE_SUFFIX

    project = env.get("GITHUB_REPOSITORY", "").rpartition("/")[2]
    named = _NOT_IN_A_NAME.sub("-", f"{project}{suffix_of(config)}-{tag}")
    return f"{named}{ARCHIVE_SUFFIX}"


def logs(out: Path, to: Path) -> int:
    secrets = [value for value in read_cache_variables().values() if "@" in value or "|" in value]
    failed = [
        path
        for path in sorted(out.glob(f"*/*/{_LOG}"))
        if path.is_file() and not path.is_symlink() and not (path.parent / MANIFEST).exists()
    ]
    newest = sorted(failed, key=lambda path: path.stat().st_mtime)[-MOST_LOGS:]
    for path in newest:
        name = "-".join(path.parent.relative_to(out).parts)
        write_atomically(to / f"{name}.log", _read_redacted_tail(path, secrets))
        show(f"kept {to / name}.log")
    return EXIT_PASS


def _read_redacted_tail(path: Path, secrets: list[str]) -> str:
    size = path.stat().st_size
    with path.open("rb") as stream:
        stream.seek(max(0, size - LARGEST_BYTES - _BEFORE_BYTES))
        data = stream.read(LARGEST_BYTES + _BEFORE_BYTES)
    text = data.decode("utf-8", "replace")
    for secret in secrets:
        text = text.replace(secret, "***")
    text = _TOKEN.sub(r"\1=***", _OPENS.sub("***@", text))
    if size <= LARGEST_BYTES:
        return text
    return _CUT.format(size - LARGEST_BYTES) + text[-LARGEST_BYTES:]
