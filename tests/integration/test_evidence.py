"""From a build to devices and back, on the sample engine: bundle, evidence or times, verdict, gate.

The device is this machine, taken for a board on a runner, whose owner lets programs run.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from integration.conftest import MakeProject
from megtrim.core.size.baseline import load_sizes
from megtrim.core.timing.spec import FEWEST_ROUNDS
from megtrim.libs.elf.symbol_names import readable
from megtrim.libs.util.process import CompletedCommand
from support.clock import clock_at
from support.megtrim_cli import KeepFolder, Project, read_verdict, run_megtrim

pytestmark = [pytest.mark.chain]

MODEL = "tiny-mobile"
CHECK = f"device:{MODEL}/default@any"


class Team:
    def __init__(self, project: Project) -> None:
        self.project = project
        self.folder = project.folder
        board = {"name": "board", "kind": "local", "class": "any", "runner": True}
        project.change(devices=[board])
        self.owner = {"MEGTRIM_HOST_RUNS_PROGRAMS": "yes"}
        """What the runner's owner allows, in its environment."""
        self.jobs: dict[str, Any] = {}

    @property
    def artifacts(self) -> list[str]:
        return [job["artifact"] for job in self.jobs["device"]["include"]]

    @property
    def keep(self) -> KeepFolder:
        return KeepFolder(self.folder / "megtrim/keepset")

    def call(self, *words: str, cwd: Path | None = None, **env: str) -> CompletedCommand:
        return run_megtrim(*words, cwd=cwd or self.folder, env=env)

    def trim(self, *more: str) -> CompletedCommand:
        ended = self.project.expect("trim", "--no-gate", "--json", *more)
        # Other tests share the folder of results: OUT/final may be another one's.
        done = json.loads(ended.stdout)["done"]
        (self.folder / "results").mkdir(exist_ok=True)
        for task, name in (("verdict/verdict", "verdict.json"), ("size/artifacts", "sizes.json")):
            if task in done:
                shutil.copy(Path(done[task]["folder"], name), self.folder / "results")
        return ended

    def pack(self, *more: str) -> str:
        output = self.folder / "output"
        output.unlink(missing_ok=True)
        shutil.rmtree(self.folder / "bundle", ignore_errors=True)
        given = ("--config", str(self.project.config), "--out", str(self.project.out))
        words = ("ci", "evidence", "pack", *given, "--to", "bundle", *more)
        ended = self.call(*words, GITHUB_OUTPUT=str(output))
        assert ended.rc == 0, ended.stderr
        lines = ended.stdout.splitlines()
        self.jobs = {
            name: json.loads(value)
            for name, _, value in (line.partition("=") for line in lines)
            if name in ("device", "emulated")
        }
        digest = lines[-1].removeprefix("bundle-sha256=")
        assert f"\n{digest}\n" in output.read_text("utf-8")
        return digest

    def run(self, digest: str, to: str, *more: str) -> dict[str, Any]:
        runner = self.folder / "runner"
        shutil.rmtree(runner, ignore_errors=True)
        runner.mkdir()
        shutil.copytree(self.folder / "bundle", runner / "bundle")
        words = ("bundle", "--sha256", digest, "--class", "any", "--to", to)
        ended = self.call("ci", "evidence", "run", *words, *more, cwd=runner, **self.owner)
        assert ended.rc == 0, ended.stderr
        shutil.copytree(runner / to, self.folder / to, dirs_exist_ok=True)
        data: dict[str, Any] = json.loads((runner / to / "evidence.json").read_text("utf-8"))
        (entry,) = data["entries"]
        return dict(entry)

    def join(self, *more: str) -> dict[str, Any]:
        words = ("ci", "evidence", "join", "--verdict", "results", "--bundle", "bundle")
        ended = self.call(*words, "--to", "report", *more)
        assert ended.rc == 0, ended.stderr
        data: dict[str, Any] = json.loads((self.folder / "report/verdict.json").read_text("utf-8"))
        return data

    def gate(self) -> int:
        return self.call("ci", "gate", "report").rc


@pytest.fixture
def team(make_project: MakeProject) -> Callable[..., Team]:
    def make(*models: str) -> Team:
        made = Team(make_project(*models))
        made.trim()
        return made

    return make


def checks(verdict: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {check["id"]: check for check in verdict["checks"]}


def test_a_board_runs_without_deferred_functions_and_with_them(make_project: MakeProject) -> None:
    it = Team(make_project(MODEL))
    it.project.change(trim={"level": "deferred", "base": "plain"}, keep_set="deferred")
    it.trim()
    it.trim("--committed")
    digest = it.pack("--committed")
    evidence = it.run(digest, "evidence")

    assert [row["text"].partition("), ")[2] for row in evidence["results"]] == [
        "without its companion file and with it"
    ]


def test_a_pull_request_is_proven_on_a_board(team: Callable[..., Team]) -> None:
    it = team("tiny-mobile")
    it.trim("--committed")
    digest = it.pack("--committed")
    jobs = it.jobs
    with clock_at("2027-01-28"):
        evidence = it.run(digest, "evidence")
        verdict = it.join("--evidence", "evidence")

    entry = {
        "name": "any 1/1",
        "class": "any",
        "shard": "1/1",
        "artifact": "megtrim-evidence-any-1",
        "runner": "",
    }
    assert jobs == {"device": {"include": [entry]}, "emulated": {"include": []}}
    assert [row["status"] for row in evidence["results"]] == ["pass"]
    assert verdict["verdict"] == "pass"
    assert checks(verdict)[CHECK]["status"] == "pass"
    assert checks(verdict)[CHECK]["text"].startswith("board: outputs equal to the last bit")
    assert it.gate() == 0

    shutil.copyfile(it.folder / "report/evidence.json", it.folder / "proofs.json")
    proofs = str(it.folder / "proofs.json")
    with clock_at("2027-01-31"):
        it.pack("--committed", "--proofs", proofs)
        verdict = it.join("--proofs", proofs)
    assert it.jobs == {"device": {"include": []}, "emulated": {"include": []}}
    assert json.loads((it.folder / "bundle/bundle.json").read_text("utf-8"))["scenarios"] == []
    assert checks(verdict)[CHECK]["text"] == (
        "board proved this program 3 days ago, so no device was used"
    )
    assert "board proved this program 3 days ago" in (it.folder / "report/comment.md").read_text()
    assert it.gate() == 0


def test_a_trap_on_the_board_fails(team: Callable[..., Team]) -> None:
    it = team("tiny-mobile")
    lost = it.keep.drop_lines(lambda line: line.startswith(' "region ') and "conv" in line)
    it.trim("--committed")
    evidence = it.run(it.pack("--committed"), "evidence")
    verdict = it.join("--evidence", "evidence")

    (found,) = evidence["results"]
    assert found["status"] == "trap"
    assert [f' "region {name}"' for name in found["missing_regions"]] == [
        line.partition(":")[0] for line in lost
    ]
    assert verdict["verdict"] == "fail"
    check = checks(verdict)[CHECK]
    assert (check["status"], check["text"].partition(":")[0]) == ("fail", "board")
    assert found["missing_regions"][0] in check["detail"]
    assert json.loads((it.folder / "report/evidence.json").read_text("utf-8"))["entries"] == []
    assert it.gate() == 1


def test_traces_of_a_board_make_the_same_keep_set(team: Callable[..., Team]) -> None:
    """As a local trim, byte for byte; they come as artifacts of two jobs."""
    it = team("tiny-mobile", "tiny-quant")
    whole = it.keep.texts()
    digest = it.pack("--traces", "--per-job", "1")
    for shard in ("1/2", "2/2"):
        it.run(digest, f"traces/{shard[0]}", "--shard", shard)
    it.keep.remove()
    it.trim("--traces", "traces", "--accept")

    assert it.artifacts == ["megtrim-traces-any-1", "megtrim-traces-any-2"]
    assert it.keep.texts() == whole


def test_a_search_on_the_board_is_kept(team: Callable[..., Team]) -> None:
    it = team("tiny-vgg")
    evidence = it.run(it.pack("--traces"), "traces", "--emulated")
    caches = {row["scenario"]: row["cache"] for row in evidence["results"]}
    it.trim("--traces", "traces", "--accept")
    records = it.keep.read().scenarios

    assert evidence["device"]["name"] == "emulated-any"
    assert caches["tiny-vgg/tuned@any"] is not None
    assert {record.id: record.algo_cache_sha256 for record in records} == caches


def test_functions_of_a_board_make_the_same_keep_set(make_project: MakeProject) -> None:
    """As a local trim, byte for byte: first it traces, then the twin of the link records there.

    A list of another link is refused.
    """
    it = Team(make_project(MODEL, trim={"level": "function", "base": "region"}))
    it.trim()
    whole = it.keep.texts()
    it.run(it.pack("--traces"), "brought/traces")
    digest = it.pack("--functions", "--evidence", "brought")
    evidence = it.run(digest, "brought/functions")
    it.keep.remove()
    it.trim("--traces", "brought", "--accept")

    assert it.artifacts == ["megtrim-functions-any-1"]
    (result,) = evidence["results"]
    assert (evidence["purpose"], result["status"]) == ("record", "pass")
    assert it.keep.texts() == whole

    listed = it.folder / "brought/functions/files" / result["functions"]
    (link,) = {each.link_sha256 for each in it.keep.read().scenarios}
    other = listed.read_text("utf-8").replace(str(link), "0" * 64).encode()
    result["functions"] = hashlib.sha256(other).hexdigest()
    (listed.parent / result["functions"]).write_bytes(other)
    document = {"version": 4, "entries": [evidence]}
    (listed.parents[1] / "evidence.json").write_text(json.dumps(document), encoding="utf-8")
    ended = it.project.run("trim", "--traces", "brought")
    assert ended.rc == 2
    assert "its functions were recorded on another link (000000000000)" in ended.stderr


def test_without_traces_functions_are_the_first_thing_that_is_asked(
    make_project: MakeProject,
) -> None:
    trim = {"level": "function", "base": "plain"}
    it = Team(make_project(MODEL, toolchain="zig", trim=trim))
    it.trim()
    whole = it.keep.texts()
    it.project.out = it.folder / "hosted"
    it.project.expect("stage build")
    digest = it.pack("--traces")
    evidence = it.run(digest, "functions", "--emulated")
    it.keep.remove()
    it.trim("--traces", "functions", "--accept")

    assert it.artifacts == ["megtrim-functions-any-1"]
    assert (evidence["purpose"], evidence["device"]["kind"]) == ("record", "qemu")
    assert it.keep.texts() == whole


def builds(trimmed: CompletedCommand) -> set[str]:
    done = json.loads(trimmed.stdout)["done"]
    return {task for task in done if task.startswith(("build/", "profile/", "reduce/region"))}


def test_a_function_trap_on_the_board_is_named(make_project: MakeProject) -> None:
    it = Team(make_project(MODEL, trim={"level": "function", "base": "plain"}))
    it.trim()
    (whole,) = it.keep.texts().values()
    planted = next(line for line in whole.splitlines() if "sample" in line and "execute" in line)
    it.keep.drop_lines(lambda line: line.rstrip("\n") == planted)

    trimmed = it.trim("--committed")
    evidence = it.run(it.pack("--committed"), "evidence")
    verdict = it.join("--evidence", "evidence")

    name = readable(planted.split('"')[1].partition(" ")[2])
    function = f"it trapped: the function {name} is not kept, because the"
    said = f"{function} keep set does not list it"
    assert builds(trimmed) == {"build/plain"}
    (scenario,) = verdict["scenarios"]
    assert scenario["text"].startswith(f"{function} committed keep set does not list it")
    (result,) = evidence["results"]
    assert (result["status"], result["text"]) == ("trap", said)
    assert checks(verdict)[CHECK]["status"] == "fail"
    assert said in checks(verdict)[CHECK]["text"]
    assert it.gate() == 1


def test_a_quick_check_is_proven_on_the_board(make_project: MakeProject) -> None:
    it = Team(make_project(MODEL))
    it.keep.remove()
    trimmed = it.trim("--quick")
    evidence = it.run(it.pack("--quick"), "evidence")
    verdict = it.join("--evidence", "evidence")

    sizes = it.folder / "results/sizes.json"
    assert builds(trimmed) == {"build/plain"}
    assert it.keep.texts() == {}
    assert it.artifacts == ["megtrim-evidence-any-1"]
    assert [result["status"] for result in evidence["results"]] == ["pass"]
    assert verdict["verdict"] == "pass"
    assert "the quick way, from the plain build alone" in verdict["headline"]
    assert it.gate() == 0

    assert load_sizes(sizes, shown="").quick
    again = it.trim("--quick", "--baseline", str(sizes))
    rows = json.loads(again.stdout)["done"]["size/artifacts"]["result"]["artifacts"]
    grown = {size["variant"]: size["growth_bytes"] for row in rows for size in row["sizes"]}
    # Another test's full trim is next to them.
    assert (grown["plain"], grown["reduced"]) == (0, 0)
    refused = it.project.run("trim", "--baseline", str(sizes))
    assert refused.rc == 2
    assert f"{sizes}: found sizes of a quick trim, expected those of a full one" in refused.stderr


PERF = {
    "experiments": ["fast-run"],
    "trimming": True,
    "budget": {"rounds": FEWEST_ROUNDS},
    "threshold": "50%",
    "other_load": "any",
    "inconclusive": "warn",
}
MOBILE = "tiny-mobile/default@any"
QUANT = "tiny-quant/default@any"
SUBJECTS = ("baseline", "fast-run", "load_and_run trimming")
ROWS = [f"{scenario} {subject}" for scenario in (MOBILE, QUANT) for subject in SUBJECTS]


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


def join_times(team: Team, folder: str, *more: str) -> dict[str, Any]:
    verdict = team.join("--evidence", folder, *more)
    assert team.gate() == (1 if verdict["verdict"] == "fail" else 0)
    return verdict


def measure(team: Team, *more: str) -> dict[str, Any]:
    return read_verdict(team.project.expect("perf run", "--committed", "--json", *more))


def test_two_jobs_take_times_as_one_machine_would(make_project: MakeProject) -> None:
    """The joined rows are those that the stage makes of the same samples, and of its own.

    If one machine is lost, its rows say so, and the others are what they are.
    """
    it = Team(make_project("tiny-mobile", "tiny-quant", perf=PERF))
    it.trim()
    it.trim("--committed")
    digest = it.pack("--committed", "--times", "--per-job", "3")
    jobs = it.jobs
    with clock_at("2027-01-31"):
        for part in ("1", "2"):
            it.run(digest, f"times/{part}", "--shard", f"{part}/2")
        joined = join_times(it, "times")
        taken = measure(it, "--evidence", "times")
        lost = join_times(it, "times/1")
        late = join_times(it, "times/1", "--pending", "late")
    local = measure(it, "--scenario", MOBILE)

    assert [(each["shard"], each["artifact"]) for each in jobs["device"]["include"]] == [
        ("1/2", "megtrim-times-any-1"),
        ("2/2", "megtrim-times-any-2"),
    ]
    assert jobs["emulated"] == {"include": []}
    found = rows(joined)
    assert sorted(found) == sorted(ROWS)
    assert found == rows(taken)
    assert {row["device"] for row in found.values()} == {"board"}
    assert len(stages(local)) == len(SUBJECTS)
    assert stages(local).items() <= stages(joined).items()
    assert {row["status"] for row in found.values()} <= {"measured", "inconclusive"}
    checks = {each["subject"] for each in joined["checks"] if each["kind"] == "latency"}
    assert checks == set(ROWS)

    # Shards take turns by id: each of the two machines has contests of both models.
    gone = {name for name, row in rows(lost).items() if row["status"] == "infrastructure"}
    assert gone == {f"{MOBILE} fast-run", f"{QUANT} baseline", f"{QUANT} load_and_run trimming"}
    assert {rows(lost)[name]["reason"] for name in gone} == {
        "no device job delivered a result for it"
    }
    for name in set(ROWS) - gone:
        assert times(rows(lost)[name]) == times(found[name])
    assert (lost["verdict"], late["verdict"]) == ("unverified", "unverified")
    assert {rows(late)[name]["reason"] for name in gone} == {"the device job had not ended in time"}
