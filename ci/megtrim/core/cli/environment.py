"""The one place that reads the environment, but for the clock of :mod:`megtrim.core.cli.clock`.

An image with little more than Python imports it: it may import nothing that needs more.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from megtrim.libs.util.errors import InputError

if TYPE_CHECKING:
    from megtrim.core.checks.invocation import Invocation, Options
    from megtrim.libs.util.process import ProcessRunner

CACHE_INPUT = "MEGTRIM_CACHE_REMOTE"
CACHE_SECRET = "MEGTRIM_CACHE_REMOTE_SECRET"
CACHE_OWN = ("CCACHE_REMOTE_STORAGE", "CCACHE_SECONDARY_STORAGE")
ENGINE_KEY = "MEGTRIM_ENGINE_KEY"
"""A token or deploy key that reads the engine's repository; one step of a workflow has it."""
ENGINE_HOST_KEYS = "MEGTRIM_ENGINE_HOST_KEYS"
"""Lines of known hosts, for a deploy key."""
PRIVATE = "MEGTRIM_PRIVATE_SOURCES"
"""Set to true, compilers' messages, which quote what they compile, are not reported."""
GIT_CEILINGS = "GIT_CEILING_DIRECTORIES"
_LONGEST_KEY = 2_000
_LONGEST_HOST_KEYS = 100_000
_CACHE = (CACHE_INPUT, CACHE_SECRET, *CACHE_OWN)


def open_processes() -> ProcessRunner:
    """Read the environment, once.

    Within a git hook, git's own variables would redirect every git command from an engine's
    checkout to the repository of the hook, so they are dropped; GIT_CEILING_DIRECTORIES is a
    person's. Compiler caches and their passwords are for builds: programs under test do not see
    them. The engine's key is for one fetch.
    """
    from megtrim.libs.util.process import ProcessRunner

    own = {
        name: value
        for name, value in os.environ.items()
        if name == GIT_CEILINGS or not (name.startswith("GIT_") or name in (*_CACHE, ENGINE_KEY))
    }
    return ProcessRunner(own)


def read_invocation(options: Options, *, keep_set: Path | None = None) -> Invocation:
    from megtrim.core.checks.invocation import render_invocation

    here = Path.cwd()
    in_job = is_in_workflow()
    return render_invocation(options, here=here, in_job=in_job, keep_set=keep_set)


def is_in_workflow() -> bool:
    return os.environ.get("GITHUB_ACTIONS") == "true"


def is_in_job() -> bool:
    return bool(os.environ.get("CI"))


_COLORED_LOGS = ("GITHUB_ACTIONS", "GITLAB_CI")
"""Set where a CI service shows colours in its logs."""


def takes_color(stream: TextIO) -> bool:
    """By https://no-color.org and https://force-color.org; the former wins, as in Python itself."""
    if os.environ.get("NO_COLOR") or os.environ.get("FORCE_COLOR"):
        return not os.environ.get("NO_COLOR")
    plain_log = is_in_job() and not any(os.environ.get(name) for name in _COLORED_LOGS)
    return stream.isatty() and os.environ.get("TERM") != "dumb" and not plain_log


def read_cache_variables() -> dict[str, str]:
    return {name: os.environ[name] for name in _CACHE if os.environ.get(name)}


def read_engine_key() -> str:
    from megtrim.places.compile.sources.git import is_deploy_key

    key = os.environ.get(ENGINE_KEY, "").strip()
    deploy_key = "\n".join((*key.splitlines(), ""))
    if is_deploy_key(deploy_key):
        return deploy_key
    if len(key) > _LONGEST_KEY or not (key.isascii() and key.isprintable()) or " " in key:
        # It is never shown, not even as what was found.
        msg = f"{ENGINE_KEY}: found something else, expected a token in one line, or an SSH key"
        hint = "a token for https, or a whole deploy key, from BEGIN to END"
        raise InputError(msg, hint=hint)
    return key


def read_engine_host_keys() -> str:
    from megtrim.places.compile.sources.git import check_host_keys

    return check_host_keys(os.environ.get(ENGINE_HOST_KEYS, "")[:_LONGEST_HOST_KEYS])


def read_private() -> bool:
    return os.environ.get(PRIVATE, "") == "true"


def read_git_ceilings() -> tuple[Path, ...]:
    return tuple(Path(name) for name in os.environ.get(GIT_CEILINGS, "").split(os.pathsep) if name)
