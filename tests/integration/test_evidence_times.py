"""Times from device jobs: packed here, taken on a board in two parts, joined as if taken here."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from integration.test_evidence import Team
from megtrim.experiments.contest import FEWEST_ROUNDS
from support.clock import clock_at

pytestmark = [pytest.mark.chain]

PERF = {
    "experiments": ["fast-run"],
    "trimming": True,
    "budget": {"rounds": FEWEST_ROUNDS},
    "threshold": "50%",
    "other_load": "any",
    "inconclusive": "warn",
}
MOBILE, QUANT = "tiny-mobile/default@any", "tiny-quant/default@any"
SUBJECTS = ("baseline", "fast-run", "load_and_run trimming")
ROWS = [f"{scenario} {subject}" for scenario in (MOBILE, QUANT) for subject in SUBJECTS]


class TimingTeam(Team):
    def take(self, digest: str, shard: str, to: str) -> None:
        self.run(digest, to, "--shard", shard)

    def join_times(self, folder: str, *more: str) -> dict[str, Any]:
        verdict = self.join("--evidence", folder, *more)
        assert self.gate() == (1 if verdict["verdict"] == "fail" else 0)
        return verdict

    def measure(self, *more: str) -> dict[str, Any]:
        ended = self.project.expect("perf run", "--committed", "--json", *more)
        folder = Path(json.loads(ended.stdout)["done"]["verdict/verdict"]["folder"])
        data: dict[str, Any] = json.loads((folder / "verdict.json").read_text("utf-8"))
        return data


@pytest.fixture
def team(make_project: MakeProject) -> TimingTeam:
    made = TimingTeam(make_project("tiny-mobile", "tiny-quant"))
    made.project.change(perf=PERF)
    made.trim()
    made.trim("--committed")
    return made


def rows(verdict: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {}
    for row in (*verdict["performance"]["rows"], *verdict["performance"]["trimming"]):
        subject = row.get("experiment") or f"{row['artifact']} trimming"
        found[f"{row['scenario']} {subject}"] = {**row, "reproduce": ""}
    return found


def times(row: dict[str, Any]) -> list[dict[str, Any] | None]:
    if "times" in row:
        return list(row["times"])
    return [each["time"] for each in row["variants"]]


def stages(verdict: dict[str, Any]) -> dict[str, list[Any]]:
    return {
        name: [each and each["stage"] for each in times(row)] for name, row in rows(verdict).items()
    }


def statuses(verdict: dict[str, Any]) -> dict[str, str]:
    return {name: row["status"] for name, row in rows(verdict).items()}


def test_two_jobs_take_times_as_one_machine_would(team: TimingTeam) -> None:
    """The joined rows are those that the stage makes of the same samples, and of its own.

    If one machine is lost, its rows say so, and the others are what they are.
    """
    digest = team.pack("--committed", "--times", "--per-job", "3")
    jobs = team.jobs
    with clock_at("2027-01-31"):
        for part in ("1", "2"):
            team.take(digest, f"{part}/2", f"times/{part}")
        joined = team.join_times("times")
        taken = team.measure("--evidence", "times")
        lost = team.join_times("times/1")
        late = team.join_times("times/1", "--pending", "late")
    local = team.measure()

    assert [(each["shard"], each["artifact"]) for each in jobs["device"]["include"]] == [
        *(("1/2", "megtrim-times-any-1"), ("2/2", "megtrim-times-any-2"))
    ]
    assert jobs["emulated"] == {"include": []}
    found = rows(joined)
    assert sorted(found) == sorted(ROWS)
    assert found == rows(taken)
    assert {row["device"] for row in found.values()} == {"board"}
    assert stages(joined) == stages(local)
    assert set(statuses(joined).values()) <= {"measured", "inconclusive"}
    checks = {each["subject"] for each in joined["checks"] if each["kind"] == "latency"}
    assert checks == set(ROWS)

    # Shards take turns by id: each of the two machines has contests of both models.
    gone = {name for name, row in rows(lost).items() if row["status"] == "infrastructure"}
    assert gone == {f"{MOBILE} fast-run", f"{QUANT} baseline", f"{QUANT} load_and_run trimming"}
    assert {rows(lost)[name]["reason"] for name in gone} == {"no device job brought a result of it"}
    for name in set(ROWS) - gone:
        assert times(rows(lost)[name]) == times(found[name])
    assert (lost["verdict"], late["verdict"]) == ("unverified", "unverified")
    assert {rows(late)[name]["reason"] for name in gone} == {"the device job had not ended in time"}
