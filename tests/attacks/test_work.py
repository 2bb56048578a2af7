"""Attempts on counted work: the file of counts, the counts of the baseline, the check."""

import json
from pathlib import Path

import pytest

from integration.test_counting import emulator
from megtrim.core.checks.statuses import CheckStatus
from megtrim.core.size.baseline import dump_sizes, parse_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.verdict.conclusion import read_conclusion
from megtrim.core.verdict.join import join
from megtrim.core.verdict.model import parse_verdict, to_json
from megtrim.libs.util.errors import InputError
from megtrim.places.devices.counting import COUNTS_FILE
from megtrim.times.counts.use import Use, Work, parse_blocks
from unit.core.verdict.examples import facts, work_row
from unit.times.counts.test_work import BY, KERNELS, work

pytestmark = [pytest.mark.chain]

WRITES = """\
#include <stdio.h>
#include <unistd.h>
int main(int argc, char **argv) {{
    {before};
    FILE *file = fopen("counts.txt", "w");
    fputs("0 1 0\\n1 blocks\\n", file);
    fclose(file);
    return 0;
}}
"""


def run_writing(folder: Path, before: str) -> bytes | None:
    source = folder / "writes.c"
    program = folder / "writes"
    source.write_text(WRITES.format(before=before), encoding="utf-8")
    counting = emulator(folder, "aarch64")
    argv = ("aarch64-linux-gnu-gcc", "-static", "-o", str(program), str(source))
    counting.spec.processes.capture(*argv)
    with counting.open() as device, device.reserve() as lease, lease.open() as directory:
        directory.put(program, "writes")
        assert directory.run(["writes"], timeout_s=60).rc == 0
        return directory.get(COUNTS_FILE)


def test_a_program_that_writes_its_counts(tmp_path: Path) -> None:
    counted = run_writing(tmp_path, "")
    assert counted
    assert len(parse_blocks(counted, source=COUNTS_FILE)) > 100

    secret = tmp_path / "elsewhere"
    assert run_writing(tmp_path, f'symlink("{secret}", "counts.txt")') is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("40000", "-1"),
        ("40000", "1e400"),
        ("40000", "true"),
        ("40000", str(2**63)),
        ("40000,", ""),
        ('"' + "a" * 64, '"' + "a" * 63),
        ('"ran": 100', '"ran": 100, "more": 1'),
    ],
)
def test_a_baseline_with_other_counts(old: str, new: str) -> None:
    uses = {"m/s@any": Use(work={"reduced": work()}, reasons={"memory": "/home/me: no"})}
    sizes = Baseline(sizes={("load_and_run", "reduced"): 9}, uses=uses)
    text = dump_sizes(sizes)
    kept = Use(work={"reduced": work()}, reasons={"memory": ""})
    assert parse_sizes(text, source="s").uses == {"m/s@any": kept}
    assert text.count(old) >= 1

    with pytest.raises(InputError):
        parse_sizes(text.replace(old, new, 1), source="s")


def test_counts_of_another_setting() -> None:
    generous = {name: (10 * count, 10 * accesses) for name, (count, accesses) in KERNELS.items()}

    row = work_row(work(BY["an instruction more than a hundredth"]), work(generous, key="b" * 64))

    assert (row.status, row.note) == (CheckStatus.SKIPPED, "no baseline")


def test_a_kernel_that_varies() -> None:
    row = work_row(work({"pool": (8_000, 80)}, "conv"), work())

    assert (row.status, row.work and row.work.left_out) == (CheckStatus.INCONCLUSIVE, ("conv",))
    assert row.note == "too little is left: 83% of the work varies now"


@pytest.mark.parametrize(
    "now",
    [work(BY["an instruction more than a hundredth"]), work(KERNELS, *"abcdefghijk"), "no qemu"],
)
def test_work_that_is_painted_green(now: Work | str) -> None:
    row = work_row(now, work(), scenario=facts().scenarios[0].id)
    bad = json.loads(to_json(join(facts(budgets=(row,)))))
    assert bad["verdict"] in ("fail", "inconclusive")
    for painted in (bad["checks"], bad["checks"] + bad["budgets"]):
        for each in painted:
            each["status"] = "pass" if each["status"] == row.status else each["status"]
        text = json.dumps(bad | {"verdict": "pass"})
        with pytest.raises(InputError):
            parse_verdict(text, source="v")
        with pytest.raises(InputError):
            read_conclusion(text, source="v")
