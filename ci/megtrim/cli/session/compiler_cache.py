"""From the environment to the compiler cache of a run: which storage, and whether it is written.

What names the storage are variables of whoever owns the runner or the repository's settings,
never a file of the project: a pull request could change that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from megtrim.build.engines.cmake import compiler_cache
from megtrim.build.engines.cmake.compiler_cache import CompilerCache
from megtrim.cli.environment import (
    CACHE_INPUT,
    CACHE_OWN,
    CACHE_SECRET,
    read_cache_variables,
)
from megtrim.github.event import read_event
from megtrim.util.environment import CCACHE
from megtrim.util.errors import InputError

_NAMES = {
    CACHE_SECRET: "the secret cache-remote",
    CACHE_INPUT: "the input cache-remote",
    **{name: name for name in CACHE_OWN},
}
"""The name that people know each variable by; the first that is set wins."""


def open_compiler_cache(
    env: Mapping[str, str], warn: Callable[[str], None], *, recompile: bool = False
) -> CompilerCache:
    """Return the cache that this run's variables ask for; ``env`` holds the others.

    ``recompile``: nothing is taken from it. Raises InputError for a URL that ccache could not use,
    and for a password in an input.
    """
    given = read_cache_variables()
    name = next((each for each in _NAMES if each in given), "")
    storages = compiler_cache.parse_storages(given.get(name, ""), source=_NAMES.get(name, ""))
    if name == CACHE_INPUT and any(each.secret for each in storages):
        msg = f"{_NAMES[name]}: found a password, which a runner prints into every log"
        hint = "change that password, and give the URL as the secret cache-remote"
        raise InputError(msg, hint=hint)
    passed = {each: env[each] for each in CCACHE if env.get(each)}
    if recompile:
        passed["CCACHE_RECACHE"] = "1"
    return CompilerCache(storages, writes=_may_write(env), passed=passed, warn=warn)


def _may_write(env: Mapping[str, str]) -> bool:
    """Return whether results of this run are written to the cache that all share.

    A person who trims by hand decides that alone. Of jobs of GitHub Actions only those of the
    default branch write; an event that cannot be read might be anything.
    """
    if not env.get("GITHUB_EVENT_NAME"):
        return True
    try:
        return read_event(env).of_default_branch
    except InputError:
        return False
