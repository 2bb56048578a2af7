"""``megtrim devices check``: everything is tried, and what fails is recovered or put aside."""

import json

import pytest

from megtrim.devices.device import ConnectionState
from unit.cli.devices.bench import Bench


def test_a_check_tries_everything(bench: Bench) -> None:
    answer = bench("check", "--json").expect(0)
    tried = ["answers", "stores a file", "runs a program and returns its exact exit status"]
    reports = json.loads(answer.out)["devices"]
    assert [(each["name"], each["passed"], each["steps"]) for each in reports] == [
        ("here", True, tried),
        ("pixel", True, tried),
    ]
    assert reports[1]["facts"] == {"fingerprint": "fake/pixel"}


def test_a_passed_check_restores_what_megtrim_put_aside(bench: Bench) -> None:
    bench.phone.answers = False
    program = bench.program("exit 0")
    assert bench("run", "pixel", "--", program).status == 3
    assert "by megtrim because found attached and does not answer" in bench("list").out
    bench.phone.answers = True

    answer = bench("check", "pixel").expect(0)
    assert "restored from quarantine (found attached and does not answer; " in answer.out
    assert bench("run", "pixel", "--", program).status == 0

    bench("quarantine", "pixel", "--reason", "it burns")
    answer = bench("check", "pixel").expect(0)
    assert "stays in quarantine, where a person put it because it burns" in answer.out
    assert bench("run", "pixel", "--", program).status == 3


@pytest.mark.parametrize(
    ("attached", "said"),
    [
        (ConnectionState.OFFLINE, "failed  pixel: it is offline\n"),
        (ConnectionState.ABSENT, "failed  pixel: it is not found\n"),
        (ConnectionState.UNAUTHORIZED, "failed  pixel: unauthorized: someone must allow this host"),
        (
            ConnectionState.READY,
            "failed  pixel: it is attached and does not answer: `megtrim devices",
        ),
    ],
)
def test_a_failed_check_is_infrastructure(
    bench: Bench, attached: ConnectionState, said: str
) -> None:
    bench.phone.attached, bench.phone.answers = attached, False
    answer = bench("check", "pixel").expect(3)
    assert answer.out.startswith(said)


def test_recovery_takes_its_steps_and_checks(bench: Bench) -> None:
    bench.phone.attached, bench.phone.cured_by = ConnectionState.OFFLINE, "reconnect"
    answer = bench("recover").expect(0)
    assert answer.out.startswith("ok  pixel: reconnected; answers; stores a file; ")
    assert bench("recover").out == "nothing to do: every device is free or running a job\n"


def test_what_stays_away_is_put_aside(bench: Bench) -> None:
    bench.phone.answers = False
    answer = bench("recover", "pixel").expect(3)
    tried = "reconnected; waited 0 s; rebooted; waited 0 s; does not answer"
    assert answer.out == f"failed  pixel: {tried}\n"
    assert bench("list", "pixel", "--json").out.count('"state": "quarantined"') == 1
