import os
from pathlib import Path

import pytest

from megtrim.cli.ci.github.client import open_api, read_runs, read_verdict
from megtrim.github.api import Forbidden
from megtrim.github.event import read_event
from megtrim.history.folder import append_to_folder
from megtrim.util.errors import InputError
from support.history_entries import make_run
from unit.cli.ci.github.job import Job


def test_the_api_is_asked_with_the_jobs_token(job: Job) -> None:
    event = read_event(os.environ)
    path = f"/repos/acme/phone/git/commits/{job.base}"
    assert open_api({"GITHUB_TOKEN": f" {job.github.token}\n"}, event).get(path)["sha"] == job.base
    with pytest.raises(Forbidden):
        open_api({"GITHUB_TOKEN": "other"}, event).get(path)


def test_a_first_night_has_no_history(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "history") == ()
    append_to_folder(tmp_path / "history", [make_run(1), make_run(0)])
    assert read_runs(tmp_path / "history") == (make_run(0), make_run(1))


def test_a_report_must_have_a_verdict(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"verdict\.json"):
        read_verdict(tmp_path)
