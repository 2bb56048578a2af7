"""Functions recorded by a board behind a real sshd, and the trim proven there.

The board is this machine, so the same functions are recorded as without ssh.
"""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from integration.test_evidence import Team
from megtrim.util.files import sha256_file
from megtrim.util.process import ProcessRunner
from support import sshd
from support.sshd import Sshd

MODEL = "tiny-mobile"
HERE = {"name": "here", "kind": "local", "class": "any"}


@pytest.fixture
def board(processes: ProcessRunner, tmp_path: Path) -> Iterator[Sshd]:
    folder = tmp_path / "board"
    folder.mkdir()
    with sshd.running(processes, folder) as running:
        yield running


@pytest.fixture
def team(make_project: MakeProject) -> Iterator[Team]:
    it = Team(make_project(MODEL))
    config = it.project.read()
    config["trim"]["level"] = "function"
    it.project.write(config | {"devices": [HERE]})
    # A socket's path must be short: pytest's folders are not.
    with tempfile.TemporaryDirectory(prefix="mt") as state:
        it.project.env = {"MEGTRIM_STATE": state}
        it.owner = {"MEGTRIM_BOARDS": f"{state}/boards.yaml", "MEGTRIM_STATE": state}
        it.trim()
        yield it


def rock(board: Sshd, **more: object) -> dict[str, object]:
    there = board.settings
    files = {"key": str(there.key), "known_hosts": str(there.known_hosts)}
    place = {"host": there.host, "port": there.port, **files}
    return {"name": "rock-5", "kind": "ssh", "class": "any", **place, **more}


def test_a_board_records_and_proves(team: Team, board: Sshd) -> None:
    whole = team.keep.texts()
    team.project.change(devices=[rock(board)])
    team.keep.remove()
    trimmed = team.trim()

    verdict = json.loads((team.folder / "results/verdict.json").read_text("utf-8"))
    linked = Path(json.loads(trimmed.stdout)["done"]["functions/linked"]["folder"])
    brought = {path.name for path in (board.home / ".cache/megtrim-device/files").iterdir()}
    assert verdict["verdict"] == "pass"
    assert [(each["name"], each["kind"]) for each in verdict["devices"]] == [("rock-5", "ssh")]
    assert sha256_file(linked / "links/probed/load_and_run") in brought
    assert "main" in team.keep.read().functions()
    assert team.keep.texts() == whole
    assert board.run_directories() == []


def test_device_jobs_record_on_a_board(team: Team, board: Sshd) -> None:
    whole = team.keep.texts()
    # What the configuration says of the way is for people at their desks.
    asked = rock(board, runner=True, host="evil.lan", port=9, user="root")
    team.project.change(devices=[asked])
    owned = {key: value for key, value in rock(board).items() if key not in ("kind", "class")}
    Path(team.owner["MEGTRIM_BOARDS"]).write_text(json.dumps({"boards": [owned]}), encoding="utf-8")
    traces = team.run(team.pack("--traces"), "brought/traces")
    functions = team.run(team.pack("--functions", "--evidence", "brought"), "brought/functions")
    team.keep.remove()
    team.trim("--traces", "brought")

    for evidence, purpose in ((traces, "trace"), (functions, "record")):
        assert (evidence["purpose"], evidence["device"]["kind"]) == (purpose, "ssh")
        assert [each["status"] for each in evidence["results"]] == ["pass"]
    assert team.keep.texts() == whole
