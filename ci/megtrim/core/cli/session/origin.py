"""What git and the CI job know of the project that a run is about; reports only show it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path, PurePosixPath

from megtrim.core.build_spec import Origin
from megtrim.core.config.config_id import is_inside
from megtrim.libs.util import git_reading
from megtrim.libs.util.errors import MegtrimError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.github_event import Event, read_event

_NAME = re.compile(r"(?!\.)[A-Za-z0-9_.-]{1,100}", re.ASCII)
_NUMBER = re.compile(r"[1-9][0-9]{0,9}", re.ASCII)


def read_origin(
    file: Path, processes: ProcessRunner, *, name: str = "", named: Iterable[Path] = ()
) -> Origin:
    """``name``: what it is called, if not as its file; ``named``: the files that it names."""
    folder = file.parent.resolve()
    name = name or file.name
    alone = Origin(project=folder.name, config=name, megtrim=version("megtrim"))

    def ask(*arguments: str) -> str:
        return ask_git(folder, processes, *arguments) or ""

    shown = ask("log", "-1", "--format=%H %ct").split()
    if len(shown) != 2 or not ask("cat-file", "-s", f"HEAD:./{file.name}"):
        return alone
    commit, seconds = shown
    top = PurePosixPath(ask("rev-parse", "--show-toplevel").rstrip("\n"))
    prefix = PurePosixPath(ask("rev-parse", "--show-prefix").rstrip("\n"))
    status = ("status", "--porcelain", "--untracked-files=no", "--ignore-submodules=dirty")
    remote = ask("config", "--get", "remote.origin.url").strip()
    elsewhere = (each for each in named if not each.is_relative_to(folder))
    inside = sorted({str(each) for each in elsewhere if each.is_relative_to(top)})
    changes = ask_git(folder, processes, *status, "--", ".", *inside)
    if changes is None:  # a commit that may not be what is here is not named
        commit = ""
        seconds = ""
    return Origin(
        project=_name_project(processes.env, remote) or top.name,
        config=str(prefix / name),
        commit=commit,
        committed_at=_show_time(seconds),
        changed=bool(changes),
        pull_request=_pull_request(processes.env),
        megtrim=alone.megtrim,
    )


def is_in_git(folder: Path, name: Path, processes: ProcessRunner) -> bool | None:
    """Whether what there is of ``name`` is committed as it is; None outside of a repository."""
    how = ("--porcelain", "--untracked-files=all", "--ignore-submodules=dirty")
    status = ("status", *how, "--", str(name))
    changes = ask_git(folder, processes, *status)
    return None if changes is None else not changes.strip()


def list_untracked(
    folder: Path, files: Sequence[Path], processes: ProcessRunner
) -> tuple[str, ...]:
    """Return those that git does not know and does not ignore, relative to ``folder``."""
    top = ask_git(folder, processes, "rev-parse", "--show-toplevel")
    if top is None:
        return ()
    inside = [str(each) for each in files if each.is_relative_to(Path(top.rstrip("\n")))]
    asked = ("ls-files", "--others", "--exclude-standard", "-z", "--", *inside)
    found = ask_git(folder, processes, *asked) if inside else None
    return tuple(filter(None, (found or "").split("\0")))


def find_top(folder: Path, processes: ProcessRunner) -> Path | None:
    """Return the top of the repository that a folder is in; None: it is in none."""
    top = (ask_git(folder, processes, "rev-parse", "--show-toplevel") or "").removesuffix("\n")
    return Path(top).resolve() if top else None


def explain_refusal(folder: Path, processes: ProcessRunner) -> str:
    """Return why git does not read the repository around ``folder``; empty if it does."""
    if processes.which("git") is None:
        return ""
    asked = git_reading.make_command(folder, "rev-parse", "--git-dir", env=processes.env)
    if not git_reading.is_of_another_user(processes.run(asked).stderr):
        return ""
    return (
        f"the repository around {folder} belongs to another user, so git refuses to read it; "
        "if you trust its settings, `git status` there shows how to tell git so"
    )


def ask_git(
    folder: Path,
    processes: ProcessRunner,
    *arguments: str,
    stdin: Path | None = None,
    stdout_to: Path | None = None,
) -> str | None:
    """None if git refuses, or is not there."""
    if processes.which("git") is None:
        return None
    command = git_reading.make_command(folder, *arguments, env=processes.env)
    outcome = processes.run(replace(command, stdin=stdin, stdout_to=stdout_to))
    return outcome.stdout if outcome.ok else None


def _show_time(seconds: str) -> str:
    try:
        return f"{datetime.fromtimestamp(int(seconds), UTC):%Y-%m-%dT%H:%M:%SZ}"
    except (OSError, OverflowError, ValueError):
        return ""


def read_event_origin(env: Mapping[str, str], config: str) -> Origin:
    if not is_inside(config):
        return Origin(megtrim=version("megtrim"))
    event = _event(env)
    return Origin(
        project=_name_project(env, ""),
        config=config,
        commit=event.head_sha if event else "",
        pull_request=_pull_request(env),
        megtrim=version("megtrim"),
    )


def _name_project(env: Mapping[str, str], remote: str) -> str:
    given = (env.get("GITHUB_REPOSITORY", ""), env.get("CI_PROJECT_NAME", ""), remote)
    names = (re.split("[/:]", each.rstrip("/"))[-1].removesuffix(".git") for each in given)
    return next((name for name in names if _NAME.fullmatch(name)), "")


def _pull_request(env: Mapping[str, str]) -> int:
    event = _event(env)
    if event is not None:
        return event.pull_request.number if event.pull_request else 0
    number = env.get("CI_MERGE_REQUEST_IID", "")
    return int(number) if _NUMBER.fullmatch(number) else 0


def _event(env: Mapping[str, str]) -> Event | None:
    try:
        return read_event(env)
    except MegtrimError:
        return None
