"""Crashes of trimmed programs, looked up: planted at each call of a stub, and real ones.

The sample engine is trimmed twice, with crash ids and without. What a call in the program without
ids needs is known from the same call in the other one: it leads to a stub with a number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pytest

from megtrim.crashes.lookup import CrashCause, CrashFinding, look_up
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import parse_report
from megtrim.elf.symbol_table import Function
from megtrim.functions.linker_script import STUB, is_stub
from megtrim.pipeline.trimmed_programs import read_newest
from megtrim.store import Store
from support.field_crashes import take_crash
from support.megtrim_cli import SAMPLE, Project
from unit.crashes.reports import tombstone

pytestmark = [pytest.mark.chain]

MODEL = "tiny-vgg"
FIELD = (
    ("--cpu", "--iter", "2", "--enable-nchw44"),
    ("--cpu", "--fake-first"),
    ("--cpu", "--record-comp-seq"),
    ("--cpu", "--multithread", "2"),
    ("--cpu", "--fast-run"),
)
"""Arguments that no scenario of the model has, each of which needs something else."""
_CALL = 0x25
"""The first six bits of aarch64's ``bl``."""
_PLANTED = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    """A trim, and its program as it ships."""

    program: TrimmedProgram
    file: Path

    def look_up(self, site: int, caller: int = 0) -> CrashFinding:
        """Look up a tombstone of this program."""
        data = tombstone(
            [(site, f"/data/{self.program.name}")],
            build_id=self.program.build_id,
            pc=site if caller else 0,
            caller=caller,
        )
        return look_up(parse_report(data, source="tombstone"), [self.program])


@pytest.fixture(scope="module")
def trims(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shipped, Shipped]:
    """Return the trim without crash ids and the one with them, of static arm64 programs."""
    project = Project.of_sample(tmp_path_factory.mktemp("field"), models=(MODEL,))
    made = []
    for crash_ids in (False, True):
        config = project.read()
        config["toolchain"] = {"kind": "zig"}
        config["trim"] |= {"level": "function", "crash_ids": crash_ids}
        config["models"][0]["scenarios"] = config["models"][0]["scenarios"][:1]
        config["budgets"] = []
        project.write(config)
        ended = project.run("trim", "--accept")
        assert ended.rc == 0, ended.stderr
        (program,) = read_newest(Store(project.out)).programs
        file = project.folder / f"{program.name}-{crash_ids}"
        file.write_bytes(program.shipped)
        file.chmod(0o755)
        made.append(Shipped(program=program, file=file))
    return made[0], made[1]


def _calls(program: TrimmedProgram) -> Iterator[tuple[int, int]]:
    """Yield the address of each direct call, and its target."""
    for each in program.code:
        content = program.shipped[each.offset : each.offset + each.size_bytes]
        for at, (word,) in enumerate(struct.iter_unpack("<I", content[: len(content) & ~3])):
            if word >> 26 == _CALL:
                distance = word & 0x3FFFFFF
                words = distance - (1 << 26) if distance >> 25 else distance
                yield each.address + 4 * at, each.address + 4 * (at + words)


def _number_at(address: int, program: TrimmedProgram) -> int:
    """Return the number of a stub: that of its ``brk``, which begins at 0x400."""
    return (int.from_bytes(program.word(address, 4), "little") >> 5 & 0xFFFF) - 0x400


def _needs(plain: TrimmedProgram, numbered: TrimmedProgram) -> dict[int, str]:
    """Return what each call of the shared stub needs, by the call's address."""
    stub = next(each.address for each in plain.table.functions if each.name == STUB)
    targets = dict(_calls(numbered))
    twins: dict[str, list[Function]] = {}
    for each in numbered.table.functions:
        twins.setdefault(each.name, []).append(each)
    found = {}
    for at, target in _calls(plain):
        if target != stub:
            continue
        for caller in plain.table.at(at):
            for twin in twins.get(caller.name, ()):
                place = targets.get(twin.address + at - caller.address)
                if twin.size_bytes == caller.size_bytes and place is not None:
                    found[at] = numbered.dropped[_number_at(place, numbered)]
    return found


def test_without_crash_ids_the_truth_is_among_the_candidates(
    trims: tuple[Shipped, Shipped],
) -> None:
    """All of them share one instruction; the call before it shows which, and nothing is certain."""
    plain, numbered = trims
    needs = _needs(plain.program, numbered.program)
    stub = next(e.address for e in plain.program.table.functions if e.name == STUB)
    known = {at: name for at, name in needs.items() if name in plain.program.dropped}
    assert len(known) >= _PLANTED

    alone = plain.look_up(stub)
    counts = []
    for at, name in known.items():
        finding = plain.look_up(stub, at + 4)
        assert finding.cause is CrashCause.CANDIDATES
        assert name in {each.linkage_name for each in finding.candidates}
        assert name in {each.linkage_name for each in alone.candidates}
        counts.append(len(finding.candidates))
    assert median(counts) <= 20


def test_with_crash_ids_each_stub_is_one_name(trims: tuple[Shipped, Shipped]) -> None:
    """Its number is that of the function."""
    _, numbered = trims
    program = numbered.program
    stubs = [each for each in program.table.functions if is_stub(each.name)]
    assert len(stubs) >= _PLANTED
    assert STUB not in {each.name for each in stubs}

    for each in stubs:
        finding = numbered.look_up(each.address)
        (candidate,) = finding.candidates
        name = program.dropped[_number_at(each.address, program)]
        assert finding.cause is CrashCause.LEFT_OUT
        assert candidate.linkage_name in ("", name)


def test_real_crashes(trims: tuple[Shipped, Shipped], tmp_path: Path) -> None:
    """Runs that no scenario covers: certain with crash ids, and never certain without."""
    plain, numbered = trims
    names = set()
    for count, arguments in enumerate(FIELD):
        words = (str(SAMPLE / "models" / f"{MODEL}.sample"), *arguments)
        found = []
        for each in (plain, numbered):
            gate = tmp_path / f"{count}{each.program.crash_ids}"
            crash = take_crash(each.file, words, machine="aarch64", gate=gate, cwd=tmp_path)
            assert crash is not None
            assert crash.signal == 5
            found.append(each.look_up(crash.pc - crash.base, crash.caller - crash.base))
        shared, exact = found
        (candidate,) = exact.candidates
        assert (shared.cause, exact.cause) == (CrashCause.CANDIDATES, CrashCause.LEFT_OUT)
        names.add(candidate.name)
        if candidate.linkage_name:
            assert candidate in shared.candidates
    assert len(names) == len(FIELD)


def test_the_engines_own_error_is_no_fault_of_trimming(
    trims: tuple[Shipped, Shipped], tmp_path: Path
) -> None:
    """A minimum-size build traps for a missing file, too."""
    _, numbered = trims
    gate = tmp_path / "gate"
    crash = take_crash(
        numbered.file, ("none.sample", "--cpu"), machine="aarch64", gate=gate, cwd=tmp_path
    )
    assert crash is not None

    finding = numbered.look_up(crash.pc - crash.base, crash.caller - crash.base)
    assert (finding.cause, finding.candidates) == (CrashCause.NOT_TRIMMING, ())
    assert "the program's own trap" in finding.text
