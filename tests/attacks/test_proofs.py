"""Attempts on proofs: what was shown before stands in for what has to be shown now."""

import copy
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from attacks.arena import BOARD, PROGRAM, PROOFS, SCENARIO, Arena
from attacks.documents import Change, Documents, trap
from attacks.tampering import edit
from attacks.test_evidence import call_trace, day
from attacks.test_store import run_older
from support.clock import clock_at

pytestmark = [pytest.mark.chain]


class Pull:
    """A pull request on which everything was proven before, and has not changed since."""

    def __init__(self, arena: Arena) -> None:
        self.arena = arena
        arena.start("spared")
        self.papers = Documents(arena)
        self.papers.start()

    @property
    def file(self) -> Path:
        return self.arena.folder / PROOFS

    def change(self, change: Change) -> None:
        edit(self.file, lambda data: change(data["entries"][0]))

    def expect_asked(self) -> None:
        """Expect that no device is spared the first scenario."""
        assert SCENARIO not in [each["id"] for each in self.arena.pack_with_proofs()["proven"]]

    def conclude(self) -> Any:
        """Pack and join without any word of a device."""
        self.arena.pack_with_proofs()
        return self.join()

    def join(self) -> Any:
        for name in ("bundle", "evidence"):
            shutil.rmtree(self.papers.folder / name)
        shutil.copytree(self.arena.folder / "bundle", self.papers.folder / "bundle")
        shutil.copy(self.file, self.papers.folder / PROOFS)
        return self.papers.conclude("--proofs", PROOFS, evidence=())


@pytest.fixture
def pull(arena: Arena) -> Pull:
    return Pull(arena)


def entry(change: Change) -> Callable[[Pull], None]:
    return lambda pull: pull.change(change)


def result(change: Change) -> Callable[[Pull], None]:
    return entry(lambda entry: change(entry["results"][0]))


def configure(**keys: Any) -> Callable[[Pull], None]:
    return lambda pull: pull.arena.configure(**keys)


def turn_input(pull: Pull) -> None:
    for file in pull.arena.folder.glob("engine/models/tiny-mobile.data.npy"):
        np.save(file, np.load(file)[..., ::-1].copy())


def name_other_trace(pull: Pull) -> None:
    digest = f'"trace_sha256": "{"0" * 64}"'
    pull.arena.keep.edit(lambda text: re.sub('"trace_sha256": "[0-9a-f]*"', digest, text))


def use_two_threads(pull: Pull) -> None:
    config = pull.arena.project.read()
    config["models"][0]["scenarios"][0]["threads"] = 2
    pull.arena.project.write(config)


def emulate_other_cpu(pull: Pull) -> None:
    other = {"name": "any", "qemu_cpu": "cortex-a53"}
    pull.arena.configure(devices=[BOARD | {"kind": "qemu"}], classes=[other])
    pull.change(lambda entry: entry["device"].update(kind="qemu", facts={"cpu": "max"}))


def add_newer_trap(pull: Pull) -> None:
    def add(data: dict[str, Any]) -> None:
        newer = copy.deepcopy(data["entries"][0])
        trap(newer["results"][0])
        data["entries"][0]["day"] = day(2)
        data["entries"].append(newer)

    edit(pull.file, add)


ATTEMPTS: dict[str, tuple[Callable[[Pull], None], ...]] = {
    "a_proof_of_another_program": (result(lambda row: row.update(binding="b" * 64)),),
    "a_proof_of_another_tolerance": (configure(verify={"tolerance": 0.0001}),),
    "a_proof_of_another_input": (turn_input,),
    "a_proof_of_another_keep_set": (name_other_trace,),
    "a_proof_of_other_threads": (use_two_threads,),
    "a_proof_of_a_device_that_is_gone": (configure(devices=[BOARD | {"name": "other-board"}]),),
    "a_proof_of_an_emulator": (
        entry(lambda entry: entry["device"].update(name="emulated-any", kind="qemu")),
    ),
    "a_proof_of_another_emulated_cpu": (emulate_other_cpu,),
    "a_proof_of_a_trace": (entry(call_trace),),
    "a_proof_that_contradicts_itself": (
        result(lambda row: row["outputs"][0].update(equal=False)),
        result(lambda row: row.update(outputs=[])),
        result(lambda row: row.update(missing_regions=["sample_input<1279368853>"])),
        result(lambda row: row["outputs"][0].update(largest_difference=0.5)),
    ),
    "a_proof_next_to_a_newer_failure": (add_newer_trap,),
}
JOINED = ("another_program", "a_device_that_is_gone", "an_emulator")
"""What is joined as well, without a result of any device."""


@pytest.mark.parametrize("attempt", ATTEMPTS)
def test_attempt(pull: Pull, attempt: str) -> None:
    whole = pull.file.read_text(encoding="utf-8")
    for change in ATTEMPTS[attempt]:
        pull.file.write_text(whole, encoding="utf-8")
        change(pull)
        pull.expect_asked()
    if attempt.removeprefix("a_proof_of_") in JOINED:
        pull.conclude().expect_no_pass()


def test_a_proof_that_is_too_old(pull: Pull) -> None:
    pull.change(lambda entry: entry.update(day=day(15)))

    pull.conclude().expect_red()


def test_a_proof_of_the_future(pull: Pull) -> None:
    pull.change(lambda entry: entry.update(day="2099-01-31"))
    pull.expect_asked()
    with clock_at("2099-01-31"):
        pull.arena.pack_with_proofs()

    pull.join().expect_no_pass()


def test_a_proof_of_an_older_megtrim(pull: Pull) -> None:
    arena = pull.arena
    arena.make_bad()
    for name in ("bundle", "evidence", "results"):
        shutil.rmtree(arena.folder / name, ignore_errors=True)
    assert run_older(arena, "trim", "--committed") == 0
    shutil.copytree(arena.project.out / "final", arena.folder / "results")
    assert run_older(arena, "ci evidence pack", "--committed", "--to", "bundle") == 0
    assert run_older(arena, "ci evidence run", "bundle", "--class", "any", "--to", "evidence") == 0
    words = ("--verdict", "results", "--bundle", "bundle", "--evidence", "evidence")
    assert run_older(arena, "ci evidence join", *words, "--to", "report") == 0
    shutil.copy(arena.folder / "report/evidence.json", pull.file)

    assert json.loads(pull.file.read_text(encoding="utf-8"))["entries"]
    pull.expect_asked()


def test_a_local_proof_of_the_future(arena: Arena) -> None:
    arena.start("honest")
    with clock_at("2099-01-31"):
        assert arena.stage("verify", "--again").rc == 0
    arena.leave_no_room_for_runs()
    arena.stage("verify", "--again")
    ended = arena.trim()

    assert arena.verdict()["verdict"] == "fail" or "2099" in ended.stdout + ended.stderr
    assert (arena.only("build", "plain") / PROGRAM).is_file()
