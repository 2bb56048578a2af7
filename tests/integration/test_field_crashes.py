"""Crashes of trimmed programs, looked up: planted at each trap and each call of one, and real ones.

The sample engine is trimmed twice, without crash ids and with them, and a release is made of each.
benchmarks/crash_lookup.py does the same with other toolchains, by regions and in shared objects.
"""

import json
import os
import shlex
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from megtrim.chain.store import Store
from megtrim.crashes.lookup import CrashCause, CrashFinding, look_up
from megtrim.crashes.program import TrimmedProgram
from megtrim.crashes.report import parse_report
from megtrim.crashes.trimmed_programs import FinishedTrim, read_newest
from megtrim.functions.linker_script import STUB
from megtrim.release.prove import read_release
from megtrim.util.process import Command, ProcessRunner
from support.crash_reports import (
    PlantedCrash,
    find_program,
    holds_truth,
    look_up_in,
    other_reports,
    plant_in_numbered,
    plant_in_plain,
    report_of,
)
from support.megtrim_cli import SAMPLE, Project, run_megtrim

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
_PLANTED = 40
_FEWEST_OTHERS = 10


_PC = {"aarch64": 32, "x86_64": 16}
_ENTRY = 9
"""Kind of the entry of the auxiliary vector that holds where the program begins in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldCrash:
    signal: int
    pc: int
    base: int
    """What was added to the addresses of the file."""


def take_crash(
    program: Path, arguments: Sequence[str], *, machine: str, gate: Path, cwd: Path
) -> FieldCrash | None:
    emulator = f"qemu-{machine}-static"
    argv = (emulator, "-g", str(gate), str(program), *arguments)
    command = Command(argv=argv, timeout_s=60, cwd=cwd)
    with ProcessRunner(os.environ).background(command), socket.socket(socket.AF_UNIX) as link:
        return _converse(link, gate, program, machine)


def _converse(link: socket.socket, gate: Path, program: Path, machine: str) -> FieldCrash | None:
    for _ in range(200):
        try:
            link.connect(str(gate))
            break
        except OSError:
            time.sleep(0.05)
    entry = struct.unpack_from("<Q", program.read_bytes(), 24)[0]
    auxiliary = _ask(link, b"qXfer:auxv:read::0,1000")[1:]
    pairs = dict(struct.iter_unpack("<QQ", auxiliary[: len(auxiliary) & ~15]))
    stopped = _ask(link, b"c")
    if not stopped.startswith(b"T"):
        return None
    registers = bytes.fromhex(_ask(link, b"g").decode())
    words = struct.unpack_from("<33Q" if machine == "aarch64" else "<17Q", registers)
    _send(link, b"k")
    return FieldCrash(
        signal=int(stopped[1:3], 16), pc=words[_PC[machine]], base=pairs[_ENTRY] - entry
    )


def _send(link: socket.socket, text: bytes) -> None:
    link.sendall(b"$" + text + b"#%02x" % (sum(text) % 256))


def _ask(link: socket.socket, text: bytes) -> bytes:
    _send(link, text)
    data = b""
    while True:
        byte = link.recv(1)
        if not byte:
            return b""
        if byte == b"$":
            data = b""
        elif byte == b"#":
            link.recv(2)
            link.sendall(b"+")
            return _unescape(data)
        else:
            data += byte


def _unescape(data: bytes) -> bytes:
    """Undo the escapes of binary data: ``}`` and the byte with one bit turned."""
    found, rest = bytearray(), iter(data)
    for byte in rest:
        found.append(next(rest) ^ 0x20 if byte == 0x7D else byte)
    return bytes(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shipped:
    results: FinishedTrim
    release: FinishedTrim
    folder: Path
    file: Path
    out: Path

    @property
    def program(self) -> TrimmedProgram:
        return self.results.programs[0]

    def look_up(self, site: int) -> CrashFinding:
        """Look a tombstone of this program up, in the results and in the release alike."""
        crash = PlantedCrash(site=site, truth="")
        found = look_up_in(crash, self.program, self.results)
        released = find_program(self.release, self.program.name)
        assert look_up_in(crash, released, self.release) == found
        return found


@pytest.fixture(scope="module")
def trims(tmp_path_factory: pytest.TempPathFactory, shared_out: Path) -> tuple[Shipped, Shipped]:
    project = Project.of_sample(tmp_path_factory.mktemp("field"), models=(MODEL,))
    made = []
    for crash_ids in (False, True):
        config = project.read()
        config["toolchain"] = {"kind": "zig"}
        config["trim"] |= {"level": "function", "crash_ids": crash_ids}
        config["models"][0]["scenarios"] = config["models"][0]["scenarios"][:1]
        config["budgets"] = []
        project.write(config)
        released = project.folder / f"release-{crash_ids}"
        trim = ("trim", "--accept", "--reuse", str(shared_out))
        for verb in (trim, ("release build", str(released))):
            project.expect(*verb)
        results = read_newest(Store(project.out))
        (program,) = results.programs
        file = project.folder / f"{program.name}-{crash_ids}"
        file.write_bytes(program.shipped)
        file.chmod(0o755)
        release = read_release(released, shown="release")
        made.append(
            Shipped(results=results, release=release, folder=released, file=file, out=project.out)
        )
    return made[0], made[1]


def test_without_crash_ids_the_truth_is_among_the_candidates(
    trims: tuple[Shipped, Shipped],
) -> None:
    plain, numbered = trims
    planted = [*plant_in_plain(plain.program, numbered.program)]
    called = [each for each in planted if each.truth in plain.program.left_out]
    assert len(called) >= _PLANTED
    assert len(called) < len(planted)

    for site in {each.site for each in planted}:
        finding = plain.look_up(site)
        assert finding.cause is CrashCause.CANDIDATES
        assert all(holds_truth(each, finding) for each in planted if each.site == site)


def test_with_crash_ids_each_trap_is_one_name(trims: tuple[Shipped, Shipped]) -> None:
    _, numbered = trims
    planted = [*plant_in_numbered(numbered.program)]
    assert len(planted) >= _PLANTED
    assert STUB not in {each.name for each in numbered.program.table.functions}
    assert any(each.truth.endswith(">") for each in planted)

    for each in planted:
        finding = numbered.look_up(each.site)
        assert finding.cause is CrashCause.LEFT_OUT
        assert len(finding.candidates) == 1
        assert holds_truth(each, finding)


@pytest.mark.parametrize("which", [0, 1])
def test_other_reports_never_have_a_certain_name(
    trims: tuple[Shipped, Shipped], which: int
) -> None:
    made = trims[which]
    numbered = [*plant_in_numbered(trims[1].program)]
    stub = next((e.address for e in made.program.table.functions if e.name == STUB), 0)
    others = [*other_reports(made.program, stub or numbered[0].site)]
    assert len(others) >= _FEWEST_OTHERS

    for what, data in others:
        report = parse_report(data, source=what)
        found = [
            look_up(report, trim.programs, trim.nameless) for trim in (made.results, made.release)
        ]
        assert found[0] == found[1]
        assert found[0].cause is not CrashCause.LEFT_OUT, what


def test_the_command_line_gives_both_answers(
    trims: tuple[Shipped, Shipped], tmp_path: Path
) -> None:
    _, numbered = trims
    crash = next(plant_in_numbered(numbered.program))
    (tmp_path / "tombstone_04").write_bytes(report_of(crash, numbered.program))
    words = ("explain", "--crash", "tombstone_04", "--release", str(numbered.folder), "--json")
    ended = run_megtrim(*words, cwd=tmp_path)

    assert ended.rc == 0, ended.stderr
    facts = json.loads(ended.stdout)
    assert (facts["crash"], facts["certain"]) == ("trimming left it out", True)
    assert len(facts["candidates"]) == 1


def test_the_printed_command_works_when_typed(trims: tuple[Shipped, Shipped]) -> None:
    """It runs the nearest scenario, with its inputs, on the build that crashed."""
    _, numbered = trims
    crash = next(plant_in_numbered(numbered.program))
    project = numbered.file.parent
    (project / "tombstone_04").write_bytes(report_of(crash, numbered.program))
    words = ("explain", "--crash", "tombstone_04", "--json", "--out", str(numbered.out))
    asked = run_megtrim(*words, cwd=project)
    assert asked.rc == 0, asked.stderr

    label = "to be sure, with the arguments and inputs that the field used"
    ended = run_megtrim(*shlex.split(json.loads(asked.stdout)[label])[1:], cwd=project)
    assert ended.rc == 0, ended.stderr


def test_real_crashes(trims: tuple[Shipped, Shipped], tmp_path: Path) -> None:
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
            found.append(each.look_up(crash.pc - crash.base))
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

    finding = numbered.look_up(crash.pc - crash.base)
    assert (finding.cause, finding.candidates) == (CrashCause.NOT_TRIMMING, ())
    assert "the program's own trap" in finding.text
