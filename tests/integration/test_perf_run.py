"""``megtrim perf`` on the sample engine: rows, verdict, what is up to date, what is cut off."""

import re
import signal
from pathlib import Path

import pytest

from integration.conftest import MakeProject
from megtrim.libs.util.process import Command, ProcessRunner
from support.clock import until
from support.megtrim_cli import Project, read_verdict

pytestmark = pytest.mark.chain

MODEL = "tiny-vgg"
SCENARIO = f"{MODEL}/default@any"
QUICK = ("--scenario", SCENARIO, "--rounds", "12")
TERMS = {"other_load": "any", "inconclusive": "warn"}


@pytest.fixture(scope="module")
def project(make_project: MakeProject) -> Project:
    perf = {"experiments": ["fast-run-cache", "nchw88"], "threshold": "5%"}
    return make_project(MODEL, perf=perf | TERMS)


def test_what_is_configured_is_measured_once(project: Project) -> None:
    first = project.expect("perf run", *QUICK, "--json")
    verdict = read_verdict(first)
    rows = {row["experiment"]: row for row in verdict["performance"]["rows"]}
    assert list(rows) == ["baseline", "fast-run-cache", "nchw88"]
    assert rows["nchw88"]["status"] == "skipped"
    assert rows["nchw88"]["reason"].startswith("the flag --enable-nchw88 is unknown")
    assert rows["baseline"]["status"] == "measured"
    assert [time["stage"] for time in rows["baseline"]["times"]] == [
        "prepare",
        "warm-up",
        "inference",
    ]
    tuned = rows["fast-run-cache"]
    assert tuned["ratios"][0]["against"] == "baseline"
    assert tuned["ratios"][0]["ratio"] < 1.2
    assert verdict["scenarios"] == []
    assert {check["kind"] for check in verdict["checks"]} == {"build", "latency"}

    second = project.expect("perf run", *QUICK)
    assert "everything is up to date: nothing was built or measured" in second.stderr
    assert "round 12 of 12" not in second.stderr
    assert "inference (ms)" in second.stdout


def test_experiments_of_arm_run_on_an_emulated_device(make_project: MakeProject) -> None:
    perf = {"experiments": ["nchw44", "nchw88"], "threshold": "50%"}
    project = make_project(MODEL, toolchain="zig", perf=perf | TERMS)

    refused = project.run("perf run", *QUICK)
    assert refused.rc == 2
    assert "is emulated (qemu): its times mean nothing" in refused.stderr

    words = (*QUICK, "--emulated")
    ended = project.run("perf run", *words, "--json")

    assert ended.rc in (0, 1), ended.stderr  # emulated times may leave an answer open
    verdict = read_verdict(ended)
    rows = {row["experiment"]: row for row in verdict["performance"]["rows"]}
    assert rows["nchw88"]["reason"].startswith("the flag --enable-nchw88 is unknown")
    assert [each["kind"] for each in verdict["devices"]] == ["qemu"]
    for name in ("baseline", "nchw44"):
        assert rows[name]["status"] in ("measured", "inconclusive"), rows[name]["reason"]
        assert rows[name]["emulated"]
        assert len(rows[name]["times"]) == 3
        assert "--emulated" in rows[name]["reproduce"].split()
    assert (
        "emulated: this tells you nothing about a device" in project.run("perf run", *words).stdout
    )


def test_an_experiment_is_measured_again_if_that_is_asked(project: Project) -> None:
    words = (*QUICK, "--experiment", "fast-run-cache")
    project.expect("perf run", *words)

    again = project.expect("perf run", *words, "--again")
    assert f"run   perf/{SCENARIO}#fast-run-cache" in again.stderr
    assert "round 12 of 12, ratio " in again.stderr


def test_a_program_that_takes_too_long_costs_its_row(project: Project) -> None:
    models = project.read()["models"]
    models[0]["scenarios"][0] |= {"timeout": "1 s", "args": ["--slow-down", "200000000"]}
    with project.changed(models=models):
        ended = project.run("perf run", *QUICK, "--experiment", "fake-first", "--json")

    assert ended.rc == 1, ended.stderr
    rows = read_verdict(ended)["performance"]["rows"]
    assert [row["status"] for row in rows] == ["failed", "failed"]
    assert rows[0]["reason"] == "baseline: it did not end within 1 s"


def test_where_every_sample_is_lost_the_machine_is_to_blame(
    project: Project, processes: ProcessRunner
) -> None:
    perf = project.read()["perf"] | {"other_load": "1%"}
    busy = Command(argv=("sh", "-c", "while :; do :; done"), timeout_s=600)
    with processes.background(busy), processes.background(busy), project.changed(perf=perf):
        ended = project.run("perf run", *QUICK, "--experiment", "baseline", "--json")

    assert ended.rc == 3, ended.stderr
    (row,) = read_verdict(ended)["performance"]["rows"]
    assert (row["status"], row["times"]) == ("infrastructure", [])
    said = f"1 of 1 comparison measured nothing, first {SCENARIO} baseline: none of its samples"
    assert said in ended.stderr
    assert "the machine was busy in" in ended.stderr


def test_what_trimming_does_to_speed(project: Project) -> None:
    """The reduced program prints no times: both are timed by runs of two lengths."""
    ended = project.run("perf run", *QUICK, "--experiment", "trimming", "--json")

    assert ended.rc in (0, 1), ended.stderr  # this machine may call it slower
    performance = read_verdict(ended)["performance"]
    assert performance["rows"] == []
    (row,) = performance["trimming"]
    plain, reduced = row["variants"]
    assert (plain["variant"], reduced["variant"]) == ("plain", "reduced")
    assert plain["size_bytes"] > reduced["size_bytes"]
    assert plain["time"]["by_run_length"]
    assert reduced["ratio"]["against"] == "plain"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--experiment", "nchw99"), "there is no experiment 'nchw99'"),
        (("--scenario", "tiny-vgg/defualt"), "expected one of tiny-vgg/default@any"),
        (("--rounds", "3"), "12<=x<=400"),
    ],
)
def test_what_cannot_be_measured_is_refused(
    project: Project, words: tuple[str, ...], said: str
) -> None:
    refused = project.run("perf run", *words)

    assert refused.rc == 2
    assert said in refused.stderr


def test_a_run_that_was_cut_off_continues(make_project: MakeProject, tmp_path: Path) -> None:
    # Never clear: it goes on until it is cut off.
    project = make_project(MODEL, perf={"threshold": "5%", "floor": "1000 s"} | TERMS)
    project.expect("perf run", *QUICK, "--experiment", "baseline")
    runs = project.out / "runs"
    words = ("--scenario", SCENARIO, "--experiment", "record-1", "--rounds", "400")
    log = tmp_path / "log"
    with log.open("wb") as stream:
        running = project.start("perf run", *words, stderr=stream)
    until(lambda: "round 12 of 400" in log.read_text("utf-8", "replace"), "12 rounds", 300)
    running.send_signal(signal.SIGINT)

    assert running.wait(30) == 130, log.read_text("utf-8", "replace")
    assert not list(runs.glob(f"run-{running.pid}-*"))
    said = log.read_text("utf-8")
    assert "    time  comparison 2 of 2, about " in said
    assert re.search(r"round 12 of 400, ratio [0-9.]+ so far, at most [0-9]+ (s|min)", said)
    resumed = project.expect("perf run", *QUICK, "--experiment", "record-1")
    assert f"run   perf/{SCENARIO}#baseline" not in resumed.stderr
