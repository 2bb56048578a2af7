"""``--against REV``: the sizes of a commit, from the first place that has them."""

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from megtrim.core.build_spec import Origin
from megtrim.core.chain.cleanup import is_replaceable
from megtrim.core.chain.filenames import AGAINST_FILE
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.clock import read_now
from megtrim.core.cli.environment import is_in_job
from megtrim.core.config.load import LoadedConfig
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.stage import list_passes
from megtrim.hosting.github.api import Api, number_at, text_at
from megtrim.hosting.github.baselines import BaselineSource, find
from megtrim.hosting.github.event import Event
from megtrim.hosting.origin import ask_git, read_origin
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.owned_folders import refuse
from megtrim.libs.util.process import ProcessRunner

_ARTIFACT = "megtrim-baseline"
_REMOTE = re.compile(
    r"(?:https://|ssh://git@|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?", re.ASCII
)
_HINT = (
    "commit a sizes.json and name it as `baseline`, trim that commit here, or set GITHUB_TOKEN: "
    "the size check of the default branch stores its sizes"
)


def leave_sizes(
    options: Options, loaded: LoadedConfig, processes: ProcessRunner, console: Console
) -> Path:
    """Write the sizes of ``options.against`` to a file, and return it. Raises InputError."""

    def ask(*arguments: str) -> str | None:
        return ask_git(loaded.path.parent.resolve(), processes, *arguments)

    rev = options.against
    sha = (ask("rev-parse", "--verify", "--end-of-options", f"{rev}^{{commit}}") or "").strip()
    if not sha:
        msg = f"--against {rev}: found no such commit in the repository of {loaded.path}"
        raise InputError(msg, hint="name a commit, tag or branch, such as origin/main")
    shown = rev if sha.startswith(rev) else f"{rev} at {sha[:12]}"
    committed = loaded.config.baseline
    text = ask("cat-file", "blob", f"{sha}:./{committed.as_posix()}") if committed else None
    origin = read_origin(loaded.path, processes, name=options.config.name)
    # Whoever proposes a change may plant one for a job.
    passes = () if is_in_job() else list_passes(options.results, origin, quick=options.quick)
    own = [each for _, each in passes if each.origin.commit == sha and not each.origin.changed]
    if text is not None:
        found = parse_sizes(text, source=f"{committed} of {shown}")
        found = replace(found, source=f"{shown}, its {committed}")
    elif own:
        found = replace(own[0], source=f"{shown}, which passed on this machine")
    else:
        remote = ask("config", "--get", "remote.origin.url") or ""
        found = ask_github(sha, options, origin, processes, remote)
    console.note(f"growth is measured against {found.source}")
    if not is_replaceable(options.results / AGAINST_FILE):
        raise refuse(options.results / AGAINST_FILE)
    write_atomically(options.results / AGAINST_FILE, dump_sizes(found))
    return options.out / AGAINST_FILE


def ask_github(
    sha: str, options: Options, origin: Origin, processes: ProcessRunner, remote: str
) -> Baseline:
    token = processes.env.get("GITHUB_TOKEN", "").strip()
    home = _REMOTE.fullmatch(remote.strip())
    if not token or home is None:
        msg = f"--against {options.against}: found no sizes of {sha[:12]}"
        raise InputError(msg, hint=_HINT)
    event = Event(name="push", repository=home[1], sha=sha, ref="refs/heads/main", run_id=0)
    url = processes.env.get("GITHUB_API_URL", event.api_url)
    api = Api(url, token, user_agent=f"megtrim/{version('megtrim')}")
    answer = api.get(f"/repos/{home[1]}")
    branch = text_at(answer, "default_branch")
    number = number_at(answer, "id")
    found = find(
        api,
        replace(event, default_branch=branch, repository_id=number),
        config=origin.config,
        artifact=_ARTIFACT,
        now_s=read_now().timestamp(),
        quick=options.quick,
    )
    if found.how is not BaselineSource.NONE:
        return replace(found.stored, source=found.source)
    msg = f"--against {options.against}: GitHub has no sizes of {sha[:12]}: {found.source}"
    raise (InfrastructureFailure if found.warnings else InputError)(msg, hint=_HINT)
