"""``megtrim ci github publish-fork``: the comment that the run of a fork may not write.

Who made the pull request decides what its run does and uploads. So all that places the comment is
asked of GitHub, and what was uploaded is data: files of known names, read to a limit.
"""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from megtrim.core.chain.filenames import VERDICT_FILE
from megtrim.core.checks.invocation import REPORT_ARTIFACT
from megtrim.core.cli.echo import open_console
from megtrim.core.cli.session.job_summary import read_page
from megtrim.core.cli.session.origin import read_event_origin
from megtrim.core.config.config_id import choose, suffix_of
from megtrim.core.report.comment import Links
from megtrim.core.report.toolchains import render_joint
from megtrim.hosting.cli.github.client import open_job
from megtrim.hosting.cli.github.publish import join_toolchains, judge_report, write_comment
from megtrim.hosting.github.api import Api, find_at, text_at
from megtrim.hosting.github.artifacts import download, list_artifacts
from megtrim.libs.util.errors import EXIT_PASS, InputError
from megtrim.libs.util.files import write_atomically
from megtrim.libs.util.limits import ENDING_FILE
from megtrim.libs.util.wording import one_line
from megtrim.places.github_event import Event, PullRequest, pull_request_of

_SHOWN = (VERDICT_FILE, ENDING_FILE)
"""What a report holds as data; its comment.md could say anything."""
_FOLDER = ".github/workflows/"
_MOST_PULL_REQUESTS = 3000
_OF_A_FORK = "A fork decides what its run reports: look at what it changes in `.github`, too."


def publish_fork(config: str, workflow: str, toolchains: str, to: Path) -> int:
    env, event, api = open_job()
    try:
        pull = _find_pull_request(api, event, workflow)
        origin = read_event_origin(env, config)
        known = replace(origin, commit=pull.head_sha, pull_request=pull.number)
        links = Links(run=replace(event, run_id=event.ended_run).run_url)
        names = toolchains.split()
        chosen = [choose(config, name) for name in names] or [config]
        artifacts = [f"{REPORT_ARTIFACT}{suffix_of(each)}" for each in chosen]
        files = {
            to / artifact / name: data
            for artifact in artifacts
            for name, data in _read_artifact(api, event, artifact, _SHOWN).items()
        }
        if not files:
            msg = f"the run {event.ended_run} left no report"
            raise InputError(msg, hint="its log shows why; a cancelled run leaves none")
        for path, data in files.items():
            write_atomically(path, data.decode("utf-8", "replace"))
        if names:
            _, found = join_toolchains(to, config, names, known, links)
            text = render_joint(known.project, config, found)
        else:
            judge_report(to / artifacts[0], config)
            own = replace(links, artifact=artifacts[0])
            text = read_page(to / artifacts[0], config=config, links=own, known=known).text
    except InputError as error:
        open_console().warn(f"no comment: {one_line(str(error), most=1000)}")
        return EXIT_PASS
    write_comment(api, event, pull.number, config, f"{text.rstrip()}\n\n{_OF_A_FORK}")
    return EXIT_PASS


def _find_pull_request(api: Api, event: Event, workflow: str) -> PullRequest:
    """Raises InputError unless the run was of that file, at the head of one that is open."""
    root = f"/repos/{event.repository}"
    run = api.get(f"{root}/actions/runs/{event.ended_run}")
    file, sha, started_by = (text_at(run, key) for key in ("path", "head_sha", "event"))
    found = f"the run {event.ended_run} is of {one_line(file, most=80)} for {one_line(started_by)}"
    if (file.partition("@")[0], started_by) != (f"{_FOLDER}{workflow}", "pull_request"):
        msg = f"{found}, expected {_FOLDER}{workflow} for pull_request"
        raise InputError(msg, hint="name the file with the size check: --workflow FILE.yml")
    own, home = (find_at(run, key, "id") for key in ("repository", "head_repository"))
    if home in (None, own):
        msg = f"{found} of the repository itself, expected one of a fork"
        raise InputError(msg, hint="a run of the repository itself writes its own comment")
    asked = {"state": "open", "sort": "updated", "direction": "desc"}
    pages = api.pages(f"{root}/pulls", params=asked, most=_MOST_PULL_REQUESTS)
    at_head = [pull_request_of(pull) for pull in pages if find_at(pull, "head", "sha") == sha]
    fitting = [pull for pull in at_head if pull.fork and pull.head_repository_id == home]
    if len(fitting) == 1:
        return fitting[0]
    msg = f"{len(fitting)} open pull requests of the fork are at {sha[:12]}, expected one"
    raise InputError(msg, hint="it was closed, or has a newer commit, whose run is shown")


def _read_artifact(api: Api, event: Event, name: str, files: Collection[str]) -> dict[str, bytes]:
    """Return those files of the run's newest artifact of a name; without one, none."""
    path = f"/repos/{event.repository}/actions/runs/{event.ended_run}/artifacts"
    for stored in list_artifacts(api, path, name):
        if stored.run_id == event.ended_run:
            return download(api, event.repository, stored, files)
    return {}
