"""``--against REV``: the sizes of a commit, from the first place that has them."""

import re
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from megtrim.core.build_spec import Origin
from megtrim.core.chain.cleanup import is_replaceable
from megtrim.core.chain.filenames import AGAINST_FILE
from megtrim.core.chain.made_of import MadeOf, find_difference
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.clock import read_now
from megtrim.core.cli.session.commit_files import CommitFiles
from megtrim.core.cli.session.origin import ask_git, explain_refusal, find_top
from megtrim.core.cli.session.revision import Ask, Revision, resolve
from megtrim.core.config.load import LoadedConfig
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.passes import list_pass_files, read_made_of, read_pass
from megtrim.hosting.github.api import Api, number_at, text_at
from megtrim.hosting.github.baselines import BaselineSource, find
from megtrim.libs.util.console import Console
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.owned_folders import refuse
from megtrim.libs.util.process import ProcessRunner
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Event

_ARTIFACT = "megtrim-baseline"
_REMOTE = re.compile(
    r"(?:https://|ssh://git@|git@)github\.com[/:]([\w.-]+/[\w.-]+?)(?:\.git)?/?", re.ASCII
)
_HINT = (
    "commit a sizes.json and name it as `baseline`, trim that commit here, or set GITHUB_TOKEN: "
    "the size check of the default branch stores its sizes"
)


def leave_sizes(
    options: Options,
    loaded: LoadedConfig,
    origin: Origin,
    now: MadeOf | None,
    processes: ProcessRunner,
    console: Console,
) -> Path:
    """Write the sizes of ``options.against`` to a file, and return it. Raises InputError.

    ``now``: what this trim is to be made of; None: no pass counts.
    """

    def ask(*arguments: str) -> str | None:
        return ask_git(loaded.path.parent.resolve(), processes, *arguments)

    rev = options.against or ""
    refusal = explain_refusal(loaded.path.parent, processes)
    if refusal:
        msg = f"--against {rev}: {refusal}"
        raise InputError(msg)
    revision = resolve(rev, ask, config=str(loaded.path))
    if revision.note:
        console.warn(f"--against {revision.note}")
    committed = _read_committed(loaded, revision, ask)
    # One of another kind may stand next to a pass that is of this one.
    if committed is not None and (committed.quick is options.quick or now is None):
        found: Baseline | None = committed
        why = ""
    else:
        found, why = _find_pass(options, loaded, revision, now, processes)
    if found is None:
        remote = ask("config", "--get", "remote.origin.url") or ""
        found = ask_github(revision, options, origin, processes, remote, why=why)
    console.note(f"growth is measured against {found.source}")
    if revision.sha == origin.commit and _is_of(revision, now, loaded, processes):
        warning = "what is trimmed is that commit itself, so nothing can have grown"
        console.warn(f"--against {revision.shown}: {warning}; name the commit before the change")
    if not is_replaceable(options.results / AGAINST_FILE):
        raise refuse(options.results / AGAINST_FILE)
    write_atomically(options.results / AGAINST_FILE, dump_sizes(found))
    return options.out / AGAINST_FILE


def _read_committed(loaded: LoadedConfig, revision: Revision, ask: Ask) -> Baseline | None:
    committed = loaded.config.baseline
    if committed is None:
        return None
    text = ask("cat-file", "blob", f"{revision.sha}:./{committed.as_posix()}")
    if text is None:
        return None
    found = parse_sizes(text, source=f"{committed} of {revision.shown}")
    return replace(found, source=f"{revision.shown}, its {committed}")


def _is_of(
    revision: Revision, now: MadeOf | None, loaded: LoadedConfig, processes: ProcessRunner
) -> bool:
    """Whether this trim is made of what the commit holds; in a job, that is taken as given."""
    top = find_top(loaded.path.parent.resolve(), processes)
    if now is None or top is None:
        return True
    files = CommitFiles(top, revision.sha, processes)
    return not find_difference(now, now, files.hold(now.files), files.names())


def _find_pass(
    options: Options,
    loaded: LoadedConfig,
    revision: Revision,
    now: MadeOf | None,
    processes: ProcessRunner,
) -> tuple[Baseline | None, str]:
    """Return the newest pass that was made of what a commit holds; without one, why not."""
    # Whoever proposes a change may plant one for a job: there, ``now`` is not known.
    top = find_top(loaded.path.parent.resolve(), processes)
    if now is None or top is None:
        return None, ""
    files = CommitFiles(top, revision.sha, processes)
    reasons = []
    for path in list_pass_files(options.results):
        passed = read_made_of(path)
        if passed is None:
            reasons.append("its inputs are not known")
            continue
        held = files.hold(passed.files)
        why = find_difference(passed, now, held, files.names())
        sizes = None if why else read_pass(path)
        if sizes is not None:
            return replace(sizes, source=f"{revision.shown}, which passed on this machine"), ""
        reasons += [*files.unknown[-1:], why]
    last = next(filter(None, reasons), "")
    if not last:
        return None, ""
    return None, f"the last pass in {options.out} does not belong to it: {last}"


def ask_github(
    revision: Revision,
    options: Options,
    origin: Origin,
    processes: ProcessRunner,
    remote: str,
    *,
    why: str = "",
) -> Baseline:
    """``why`` is what no pass is one of the commit for. Raises InputError."""
    sha = revision.sha
    token = processes.env.get("GITHUB_TOKEN", "").strip()
    home = _REMOTE.fullmatch(remote.strip())
    asked = f"--against {one_line(options.against or '')}"
    if not token or home is None:
        more = f"; {why}" if why else ""
        msg = f"{asked}: found no sizes of {sha[:12]}{more}"
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
    # Those of another commit, near it or not, are not what was asked for.
    if found.how is not BaselineSource.NONE and found.commit == sha:
        return replace(found.stored, source=found.source)
    msg = f"{asked}: GitHub has no sizes of {sha[:12]}: {found.source}"
    if found.how is BaselineSource.NONE and found.warnings:
        raise InfrastructureFailure(msg, hint=_HINT)
    nearest = f"; the nearest are those of {found.commit[:12]}" if found.commit else ""
    msg = f"{msg}{nearest}"
    raise InputError(msg, hint=_HINT)
