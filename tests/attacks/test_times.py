"""Attempts to get a slower trimmed program past its times: the samples that a device brings."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest

from attacks.arena import Arena
from attacks.documents import Documents
from attacks.tampering import edit, flip

pytestmark = [pytest.mark.chain]

ROW = 1
"""Of the trimmed program, behind the baseline's."""


class Night(Documents):
    """Results, bundle and evidence of a night in which the trimmed program was slower."""

    def start(self) -> None:
        kept = self.arena.kept("slower")
        shutil.rmtree(self.folder, ignore_errors=True)
        for name in ("results", "bundle", "evidence"):
            shutil.copytree(kept / name, self.folder / name)

    def change_samples(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Change the result of the trimmed program's contest, and its digest with it."""
        row = json.loads((self.folder / "evidence/evidence.json").read_text("utf-8"))
        digest = row["entries"][0]["results"][ROW]["times"]
        path = self.folder / "evidence/files" / digest
        record = json.loads(path.read_text(encoding="utf-8"))
        change(record["result"])
        data = json.dumps(record).encode()
        self.put_record(data)

    def put_record(self, data: bytes) -> None:
        """Let evidence name another record for the trimmed program's contest."""
        digest = hashlib.sha256(data).hexdigest()
        (self.folder / "evidence/files" / digest).write_bytes(data)
        self.change_result(lambda row: row.update(times=digest), at=ROW)


@pytest.fixture
def night(arena: Arena) -> Night:
    """What the jobs left; joined as it is, it is red."""
    documents = Night(arena)
    documents.start()
    documents.conclude().expect_red()  # else the attempts would prove nothing
    return documents


def test_the_slow_rounds_are_dropped(night: Night) -> None:
    night.change_samples(
        lambda result: result.update(
            samples=[each for each in result["samples"] if each["round_number"] > 0]
        )
    )

    night.conclude().expect_no_pass()


def test_every_slow_sample_is_marked(night: Night) -> None:
    def mark(result: dict[str, Any]) -> None:
        for each in result["samples"]:
            each["marks"] = ["busy machine"]

    night.change_samples(mark)

    night.conclude().expect_no_pass()


def test_a_bit_of_the_samples_flips(night: Night) -> None:
    for file in (night.folder / "evidence/files").iterdir():
        flip(file)

    night.conclude().expect_no_pass()


def test_the_baselines_samples_stand_in(night: Night) -> None:
    entry = json.loads((night.folder / "evidence/evidence.json").read_text("utf-8"))["entries"][0]
    other = night.folder / "evidence/files" / entry["results"][0]["times"]
    night.put_record(other.read_bytes())

    night.conclude().expect_no_pass()


def test_the_times_of_a_fast_program_stand_in(night: Night) -> None:
    """Bound to another program, as those of an earlier night are."""
    night.change_result(lambda row: row.update(binding="0" * 64), at=ROW)

    night.conclude().expect_no_pass()


def test_the_night_is_of_last_week(night: Night) -> None:
    day = (date.today() - timedelta(days=7)).isoformat()
    night.change_entry(lambda entry: entry.update(day=day))

    night.conclude().expect_no_pass()


def test_the_slow_row_is_missing(night: Night) -> None:
    night.change_entry(lambda entry: entry["results"].pop(ROW))

    night.conclude().expect_no_pass()


def test_a_device_says_that_it_cannot_hold_it(night: Night) -> None:
    night.change_result(
        lambda row: row.update(status="unverified", times=None, text="needs a CPU with avx2"),
        at=ROW,
    )

    night.conclude().expect_no_pass()


def test_the_threshold_is_raised_in_the_bundle(night: Night) -> None:
    def weaken(data: dict[str, Any]) -> None:
        for each in (data["times"], *(each["contest"] for each in data["times"]["contests"])):
            each["criterion"]["threshold"] = 0.9

    edit(night.folder / "bundle/bundle.json", weaken)

    night.conclude().expect_no_pass()


def test_the_slow_contest_is_taken_out_of_the_bundle(night: Night) -> None:
    path = night.folder / "bundle/bundle.json"
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    edit(path, lambda data: data["times"]["contests"].pop(ROW))

    night.conclude("--sha256", digest).expect_refused()


def test_the_verdict_of_another_engine_is_joined(night: Night) -> None:
    edit(night.folder / "results/verdict.json", lambda data: data["engine"].update(digest="0" * 64))

    night.conclude().expect_refused()
