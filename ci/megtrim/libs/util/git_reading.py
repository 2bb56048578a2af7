"""Git as a reader of a repository: what it is told, so that it starts nothing that others name.

A repository's settings name programs: filters, monitors, hooks, a shell of its own for a remote.
So git refuses a repository of another user, and megtrim does not overrule it. Whoever trusts one
says so in git's own settings (``safe.directory``), as an image does for its containers. The
workspace of a CI job often belongs to another user than its container's: there the job says so.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from megtrim.libs.util.process import Command

TIMEOUT_S = 120.0
_SETTINGS = (
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "log.showSignature=false",
    # A folder of the project, unpacked from anywhere, may look like a repository with settings.
    "-c",
    "safe.bareRepository=explicit",
    # Git must not write, not even its index.
    "--no-optional-locks",
    "--literal-pathspecs",
)
_ENV = {
    "LC_ALL": "C",
    # What a partial clone lacks would be fetched, by programs that its settings name.
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
}
_WORKSPACES = (
    ("GITHUB_ACTIONS", "GITHUB_WORKSPACE"),
    ("GITLAB_CI", "CI_PROJECT_DIR"),
    ("JENKINS_URL", "WORKSPACE"),
)
"""By CI service: the variable that tells that it runs us, and the one with the job's folder."""

_OF_ANOTHER = re.compile(r"detected dubious ownership in repository|unsafe repository \(")


def make_command(folder: Path, *arguments: str, env: Mapping[str, str]) -> Command:
    """``env`` is that of the call; ``arguments`` begin with git's command."""
    place = folder.resolve()
    trusted = (
        word for each in _list_trusted(place, env) for word in ("-c", f"safe.directory={each}")
    )
    argv = ("git", *_SETTINGS, *trusted, "-C", str(place), *arguments)
    return Command(argv=argv, timeout_s=TIMEOUT_S, env=_ENV)


def is_of_another_user(stderr: str) -> bool:
    """Return whether git refused because of whose the repository is."""
    return _OF_ANOTHER.search(stderr) is not None


def _list_trusted(place: Path, env: Mapping[str, str]) -> Iterator[Path]:
    """Yield each folder that may be the top of the repository, from ``place`` to a workspace."""
    for service, variable in _WORKSPACES:
        if not env.get(service) or not env.get(variable):
            continue
        workspace = Path(env[variable]).resolve()
        if place.is_relative_to(workspace):
            inside = (each for each in (place, *place.parents) if each.is_relative_to(workspace))
            yield from inside
