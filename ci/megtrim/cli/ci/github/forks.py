"""``megtrim ci github publish-fork``: the comment that the run of a fork may not write."""

from dataclasses import replace
from pathlib import Path

import click

from megtrim.chain.filenames import VERDICT_FILE
from megtrim.checks.invocation import REPORT_ARTIFACT
from megtrim.cli.ci.github.client import open_job
from megtrim.cli.ci.github.publish import join_toolchains, judge_report
from megtrim.cli.echo import open_console, show
from megtrim.cli.options import config_path_option, to_option
from megtrim.cli.session.job_summary import read_page
from megtrim.cli.session.origin import read_event_origin
from megtrim.config.config_id import choose, suffix_of
from megtrim.evidence.limits import ENDING_FILE
from megtrim.github.api import Api
from megtrim.github.event import Event, WorkflowRun
from megtrim.github.forks import find_pull_request, find_run, read_artifact
from megtrim.github.issues import key_of, upsert
from megtrim.github.runner import one_line
from megtrim.report.comment import Links, render_joint
from megtrim.util.errors import EXIT_PASS, InputError
from megtrim.util.files import write_atomically

_SHOWN = (VERDICT_FILE, ENDING_FILE)
"""What a report holds as data; its comment.md could say anything."""
_OF_A_FORK = "A fork decides what its run reports: look at what it changes in `.github`, too."


@click.command(
    "publish-fork",
    epilog="""\b
Examples:
  megtrim ci github publish-fork --to reports
  megtrim ci github publish-fork --config android/megtrim.yaml --workflow megtrim.android.yml \\
      --to reports

From the environment: GITHUB_EVENT_PATH and the runner's other variables, for an event
workflow_run, and GITHUB_TOKEN, which needs `permissions: actions: read, pull-requests: write`.
""",
)
@config_path_option("each has a comment of its own")
@click.option(
    "--workflow",
    default="megtrim.yml",
    show_default=True,
    metavar="FILE.yml",
    help="Workflow with the size check.",
)
@click.option(
    "--toolchains", default="", help="Names of the toolchains, if the file has several, by spaces."
)
@to_option
def publish_fork(config: str, workflow: str, toolchains: str, to: Path) -> int:
    """Comment on the pull request of a fork with the report of its run, which has ended.

    Pull request and commit are GitHub's answers. Of the run's artifact, verdict.json and
    ending.json are read as data. What cannot be shown is a warning.
    """
    env, event, api = open_job()
    try:
        run = find_run(api, event, workflow)
        number = find_pull_request(api, event, run).number
        origin = read_event_origin(env, config)
        known = replace(origin, commit=run.head_sha, pull_request=number)
        links = Links(run=f"{event.server_url}/{event.repository}/actions/runs/{run.id}")
        names = toolchains.split()
        chosen = [choose(config, name) for name in names] or [config]
        artifacts = [f"{REPORT_ARTIFACT}{suffix_of(each)}" for each in chosen]
        fetched = [_fetch(api, event, run, name, to / name) for name in artifacts]
        if not any(fetched):
            msg = f"the run {run.id} left no report"
            raise InputError(msg, hint="its log says why; a cancelled run leaves none")
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
    text = f"{text.rstrip()}\n\n{_OF_A_FORK}"
    outcome = upsert(api, event.repository, number, key_of(config), text)
    show(f"comment on pull request {number}: {outcome}")
    return EXIT_PASS


def _fetch(api: Api, event: Event, run: WorkflowRun, artifact: str, folder: Path) -> bool:
    files = read_artifact(api, event, run, artifact, _SHOWN)
    for name, data in files.items():
        write_atomically(folder / name, data.decode("utf-8", "replace"))
    return bool(files)
