"""The memory of scenarios: what is measured, what it is compared with, and what reports say."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from megtrim.core.chain.graph import BASE, BASE_REDUCED, PLAIN, REDUCED, Stage, Task, tasks
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.config.performance import MemoryConfig
from megtrim.core.config.units import PEAK, PLANNED
from megtrim.core.report import comment, table
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.counted import MemoryUse, Use
from megtrim.core.size.rows import BudgetRow
from megtrim.core.verdict.join import join
from megtrim.engines.load_and_run.dialects import LITE
from megtrim.engines.load_and_run.program import LoadAndRun
from megtrim.libs.util.errors import InfrastructureFailure, InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices.counting import CountingEmulator
from megtrim.places.devices.device import DeviceSpec
from megtrim.places.devices.local import Local
from megtrim.times.counts import stage
from megtrim.times.counts.use import parse_peak, parse_plan
from unit.core.trim.stages.built import CONFIG, built
from unit.core.trim.stages.support import changed
from unit.core.verdict.examples import facts, use_rows

SCENARIO = "m/s@any"
KIB = 1024
MIB = 1024 * 1024
PASS = CheckStatus.PASS
FAIL = CheckStatus.FAIL
SKIPPED = CheckStatus.SKIPPED
INCONCLUSIVE = CheckStatus.INCONCLUSIVE


def use(peak: int, *, key: str = "a", planned: int | None = None, **more: Any) -> Use:
    figures = {PEAK: peak} | ({} if planned is None else {PLANNED: planned})
    return Use(memory=MemoryUse(key=key * 64, figures=figures, **more))


def rows(now: Use, before: Use | None = None, **limits: str) -> list[BudgetRow]:
    return use_rows(now, before, memory=MemoryConfig.model_validate(limits))


@pytest.mark.parametrize(
    ("now", "before", "limits", "expected"),
    [
        (use(8 * MIB), None, {}, [(8 * MIB, None, SKIPPED), (None, None, SKIPPED)]),
        (
            use(12 * MIB),
            use(8 * MIB),
            {"max": "12 MiB", "growth": "50%"},
            [(12 * MIB, 12 * MIB, PASS), (4 * MIB, 4 * MIB, PASS)],
        ),
        (
            use(12 * MIB + 1),
            use(8 * MIB),
            {"max": "12 MiB", "growth": "50%"},
            [(12 * MIB + 1, 12 * MIB, FAIL), (4 * MIB + 1, 4 * MIB, FAIL)],
        ),
        # What differs from run to run is no growth, however little is allowed.
        (use(103 * MIB), use(100 * MIB), {"growth": "1 B"}, [(..., None, ...), (0, 1, PASS)]),
        (use(97 * MIB), use(100 * MIB), {"growth": "1 B"}, [(..., None, ...), (0, 1, PASS)]),
        (
            use(103 * MIB + 1),
            use(100 * MIB),
            {"growth": "1 B"},
            [(..., None, ...), (3 * MIB + 1, 1, FAIL)],
        ),
        # Of another emulator, model or input: it is not known, unless no one asked.
        (use(9, key="b"), use(8), {"growth": "1 B"}, [(9, None, SKIPPED), (None, 1, FAIL)]),
        (
            use(9, key="b"),
            use(8),
            {"growth": "1 B", "inconclusive": "warn"},
            [(9, None, SKIPPED), (None, 1, INCONCLUSIVE)],
        ),
        (use(9, key="b"), use(8), {"max": "9 B"}, [(9, 9, PASS), (None, None, SKIPPED)]),
        # An earlier program, measured again under the new conditions.
        (
            use(9 * MIB, key="b", base_figures={PEAK: 8 * MIB}),
            use(9 * MIB),
            {"growth": "1 B"},
            [(9 * MIB, None, SKIPPED), (MIB, 1, FAIL)],
        ),
        # What it starts is not in the peak.
        (
            use(9, processes=1),
            use(9),
            {"max": "9 B", "growth": "1 B"},
            [(None, 9, FAIL), (None, 1, FAIL)],
        ),
        (use(9, processes=1), use(9), {}, [(9, None, SKIPPED), (0, None, SKIPPED)]),
        # The plan is exact, and of no budget.
        (
            use(8, planned=1000),
            use(8, planned=999),
            {"max": "8 B", "growth": "0"},
            [(8, 8, PASS), (0, 0, PASS), (1000, None, SKIPPED), (1, None, SKIPPED)],
        ),
    ],
)
def test_a_peak_is_held_to_its_limits(
    now: Use, before: Use | None, limits: dict[str, str], expected: list[Any]
) -> None:
    found = [(row.used, row.limit, row.status) for row in rows(now, before, **limits)]

    assert len(found) == len(expected)
    for seen, wanted in zip(found, expected, strict=True):
        assert all(b in (..., a) for a, b in zip(seen, wanted, strict=True)), (found, expected)


def test_a_baseline_keeps_it() -> None:
    kept = {SCENARIO: use(8 * MIB, planned=5), "m/t@any": use(1)}
    text = dump_sizes(Baseline(sizes={("a", "plain"): 1}, uses=kept))

    assert parse_sizes(text, source="b").uses == kept
    for old, new in (('"peak memory": 1', '"peak memory": -1'), ("a" * 64, "A" * 64)):
        assert old in text
        with pytest.raises(InputError, match="memory"):
            parse_sizes(text.replace(old, new, 1), source="b")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"12",
        b"-12\n",
        b"1e3\n",
        b"Command terminated by signal 4\n12\n",
        b"9" * 99 + b"\n",
    ],
)
def test_what_is_no_peak_is_refused(data: bytes) -> None:
    assert parse_peak(b"29728\n") == 29728 * KIB
    with pytest.raises(InputError, match="expected the peak in KiB"):
        parse_peak(data)


def plan(*ends: object) -> bytes:
    """As the engine writes it: a chunk of a tensor or a weight by its number, all as text."""
    chunks = {
        str(number): {
            "id": str(number),
            "type": "weight_mem",
            "overwrite_dest_id": "-1",
            "time_begin": "0",
            "time_end": "70",
            "logic_addr_begin": "1252160",
            "logic_addr_end": end,
        }
        for number, end in enumerate(ends)
    }
    return json.dumps({"opr": {"0": {"id": "0", "name": "conv"}}, "chunk": chunks}).encode()


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (plan("318984", "1253024", "1252128"), 1253024),
        *((data, None) for data in (b"", b"[]", b"{}", plan(), plan("x"), plan("-1"), plan("٣"))),
        *((data, None) for data in (b"\xff", b"[" * 100_000, plan("9" * 16), b'{"chunk": [1]}')),
    ],
)
def test_the_engine_plans_up_to_its_last_chunk(data: bytes, expected: int | None) -> None:
    assert parse_plan(data) == ({} if expected is None else {PLANNED: expected})


def test_reports_say_by_how_much_it_grew() -> None:
    found = rows(use(12 * MIB, planned=7), use(8 * MIB, planned=7), growth="1 MiB")
    verdict = join(facts(budgets=tuple(found)))

    line = "`m/s@any` peak memory, trimmed: +4 MiB since main, 1 MiB allowed"
    body = comment.render(verdict)
    assert f"### Instructions and memory that changed\n\n- {line}\n" in body
    assert "make it use less, or raise the limit" in body
    assert "planned memory, trimmed: " not in body
    assert "planned memory, trimmed" in table.render(verdict)
    assert "Budgets: 0 of 1 kept" in body


def open_task(
    folder: Path, processes: ProcessRunner, script: str, *builds: str
) -> tuple[Session, Task]:
    program = f"#!/bin/sh\n{script}\n"
    session = built(
        folder,
        config=f"{CONFIG}memory: {{}}\n",
        programs=dict.fromkeys((PLAIN, REDUCED, *builds), program),
    )
    engine = cast("Any", SimpleNamespace(flags=LoadAndRun(dialect=LITE)))
    here = cast("Any", {"any": Local("here", processes, folder / "runs")})
    task = next(each for each in tasks(session.config) if each.stage is Stage.COUNT)
    missing = DeviceSpec(
        name="none",
        processes=ProcessRunner({"PATH": ""}),
        scratch=folder / "runs",
        machine="aarch64",
        qemu_cpu="max",
        sysroot=None,
    )
    emulators = {"any": CountingEmulator(spec=missing, compilers=())}
    return changed(session, devices=here, engine=engine, emulators=emulators), task


@pytest.mark.chain
@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("exit 0", None),
        ("case \"$*\" in *plan*) mkdir plan; echo 'PLAN' >plan/StaticMemoryInfo.json;; esac", 77),
        ("exit 3", "the program did not run to its end while it was measured: exit status 3"),
    ],
)
def test_it_is_measured_on_this_machine(
    tmp_path: Path, processes: ProcessRunner, script: str, expected: object
) -> None:
    """By GNU time: what Python says of a program is at least what it takes itself."""
    session, task = open_task(tmp_path, processes, script.replace("PLAN", plan("77").decode()))
    found = stage.work(task, session, tmp_path)

    assert "time" in stage.inputs(task, session)["timer"]
    if found.memory is None:
        assert found.reasons == {"memory": expected}
        return
    assert 300 * KIB < found.memory.figures[PEAK] < 64 * MIB
    assert found.memory.figures.get(PLANNED) == expected
    # Whether the program starts others is seen by the emulator that counts.
    assert "qemu-aarch64, which takes plugins" in found.reasons["processes"]
    [size_row, *_] = rows(found, None, max="64 MiB")
    assert size_row.status is PASS
    assert "; whether it starts other processes is not known: qemu-aarch64" in size_row.text


@pytest.mark.chain
@pytest.mark.parametrize("signal", ["KILL", "BUS"])
def test_a_measured_program_that_is_killed_is_the_machine_s(
    tmp_path: Path, processes: ProcessRunner, signal: str
) -> None:
    session, task = open_task(tmp_path, processes, f"kill -{signal} $$")

    with pytest.raises(InfrastructureFailure, match=r"program stopped|ended by signal 9"):
        stage.work(task, session, tmp_path)


@pytest.mark.chain
def test_an_earlier_program_is_measured_again(tmp_path: Path, processes: ProcessRunner) -> None:
    session, task = open_task(tmp_path, processes, "exit 0", BASE, BASE_REDUCED)
    found = stage.work(task, session, tmp_path)

    assert found.memory
    assert found.memory.base_figures.keys() == {PEAK}
    sizes = Baseline(sizes={("a", "plain"): 1}, uses={SCENARIO: found})
    kept = parse_sizes(dump_sizes(sizes), source="b").uses[SCENARIO]
    memory = replace(found.memory, base_figures={})
    assert kept == Use(memory=memory, reasons={"processes": ""})
    alone, own = open_task(tmp_path / "alone", processes, "exit 0")
    added = stage.inputs(task, session).keys() - stage.inputs(own, alone).keys()
    assert added == {f"base {BASE}", f"base {BASE_REDUCED}"}


def test_what_cannot_be_measured_says_why(
    tmp_path: Path, processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    session, task = open_task(tmp_path, processes, "exit 0")
    monkeypatch.setattr(Local, "which", lambda _self, _name: None)

    assert "apt-get install time" in stage.work(task, session, tmp_path).reasons["memory"]
    found = stage.work(task, built(tmp_path / "phone", config=f"{CONFIG}memory: {{}}\n"), tmp_path)
    limit = {"growth": "1 MiB"}
    for limits, status in (
        ({}, SKIPPED),
        (limit, FAIL),
        (limit | {"inconclusive": "warn"}, INCONCLUSIVE),
    ):
        [row] = rows(found, None, **limits)
        text = "not measured, because a device of kind fake does not report memory"
        assert (row.status, row.text) == (status, text)
