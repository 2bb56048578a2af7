"""Attempts to get a slower trimmed program past its times: the samples that a device brings."""

import hashlib
import json
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from attacks.arena import Arena
from attacks.documents import Change, Documents
from attacks.tampering import edit, flip

pytestmark = [pytest.mark.chain]

ROW = 1
"""Of the trimmed program, behind the baseline's."""


class Night(Documents):
    state = "slower"

    def results(self) -> list[dict[str, Any]]:
        text = (self.folder / "evidence/evidence.json").read_text(encoding="utf-8")
        results: list[dict[str, Any]] = json.loads(text)["entries"][0]["results"]
        return results

    def record(self, row: int) -> bytes:
        digest: str = self.results()[row]["times"]
        return (self.folder / "evidence/files" / digest).read_bytes()

    def put_record(self, data: bytes) -> None:
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "evidence/files" / digest).write_bytes(data)
        self.change_row(times=digest)

    def change_row(self, **changes: Any) -> None:
        self.change_result(lambda row: row.update(changes), at=ROW)

    def change_samples(self, change: Change) -> None:
        record = json.loads(self.record(ROW))
        change(record["result"])
        self.put_record(json.dumps(record).encode())


@pytest.fixture
def night(arena: Arena) -> Night:
    documents = Night(arena)
    documents.start()
    return documents


def drop_slow_rounds(result: dict[str, Any]) -> None:
    result["samples"] = [each for each in result["samples"] if each["round_number"] > 0]


def mark_samples(result: dict[str, Any]) -> None:
    for sample in result["samples"]:
        sample["marks"] = ["busy machine"]


def tell_whole_runs(result: dict[str, Any]) -> None:
    for sample in result["samples"]:
        sample.update(iterations_ms=[], runs_ms=[1.0])


def flip_bits(night: Night) -> None:
    for file in (night.folder / "evidence/files").iterdir():
        flip(file)


def raise_threshold(bundle: dict[str, Any]) -> None:
    for part in (bundle["times"], *(row["contest"] for row in bundle["times"]["contests"])):
        part["criterion"]["threshold"] = 0.9


LAST_WEEK = (date.today() - timedelta(days=7)).isoformat()
ATTEMPTS: dict[str, Callable[[Night], None]] = {
    "the_slow_rounds_are_dropped": lambda night: night.change_samples(drop_slow_rounds),
    "every_slow_sample_is_marked": lambda night: night.change_samples(mark_samples),
    "whole_runs_stand_in_for_iterations": lambda night: night.change_samples(tell_whole_runs),
    "a_bit_of_the_samples_flips": flip_bits,
    "the_baselines_samples_stand_in": lambda night: night.put_record(night.record(0)),
    # Bound to another program, as those of an earlier night are.
    "the_times_of_a_fast_program_stand_in": lambda night: night.change_row(binding="0" * 64),
    "the_night_is_of_last_week": lambda night: night.change_entry(
        lambda entry: entry.update(day=LAST_WEEK)
    ),
    "the_slow_row_is_missing": lambda night: night.change_entry(
        lambda entry: entry["results"].pop(ROW)
    ),
    "a_device_says_that_it_cannot_hold_it": lambda night: night.change_row(
        status="unverified", times=None, text="needs a CPU with avx2"
    ),
    "the_threshold_is_raised_in_the_bundle": lambda night: night.change_bundle(raise_threshold),
}


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(night: Night, attempt: str) -> None:
    """One change in what the jobs left does not make the night a good one."""
    ATTEMPTS[attempt](night)

    night.conclude().expect_no_pass()


def test_the_slow_contest_is_taken_out_of_the_bundle(night: Night) -> None:
    digest = hashlib.sha256((night.folder / "bundle/bundle.json").read_bytes()).hexdigest()
    night.change_bundle(lambda data: data["times"]["contests"].pop(ROW))

    night.conclude("--sha256", digest).expect_refused()


def test_the_verdict_of_another_engine_is_joined(night: Night) -> None:
    edit(night.folder / "results/verdict.json", lambda data: data["engine"].update(digest="0" * 64))

    night.conclude().expect_refused()
