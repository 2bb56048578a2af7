from pathlib import Path

import pytest

from megtrim.build_spec import Link
from megtrim.devices.relocation_support import UnsupportedRelocations
from megtrim.elf.symbol_table import FunctionTable
from megtrim.functions import probes, qemu_log
from megtrim.functions.observables import Observables
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.regions.region import Region
from megtrim.regions.trace import TraceFailure, TraceProblem
from megtrim.trim.runs import tracing
from megtrim.trim.runs.execution import RunResult, RunSpec
from megtrim.util.errors import InfrastructureFailure, ProductFailure
from unit.trim.stages.fake_device import FakeDevice, Fickle
from unit.trim.stages.support import trace as trace_bytes

ID = "m/s@any"
TABLE = FunctionTable(
    machine="aarch64",
    entry=0,
    functions=(),
    imported=frozenset(),
    exported=frozenset(),
    registrations=0,
    ifuncs=frozenset(),
)
OBSERVABLES = Observables(
    link_sha256="6e" * 32, groups=tuple((name,) for name in ("a", "b", "c", "d", "logged", "main"))
)


def make_spec(folder: Path, text: str, *, search: bool = False) -> RunSpec:
    (folder / "load_and_run").write_text(text, encoding="utf-8")
    (folder / "m.mge").write_bytes(b"model")
    return RunSpec(
        program=folder / "load_and_run",
        model=folder / "m.mge",
        arguments=(),
        inputs={},
        threads=1,
        timeout_s=9.0,
        search=search,
    )


def test_a_trace_comes_parsed_and_as_it_was_written(tmp_path: Path) -> None:
    noted: list[RunResult] = []
    asked = make_spec(tmp_path, "trace 7 1\npromise 2\n")
    parsed, data, run = tracing.trace(ID, asked, FakeDevice(), noted.append)

    assert parsed.regions == (Region("kern", (1,)), Region("kern", (7,)))
    assert data == trace_bytes(7, 1)
    assert [each.run for each in noted] == [run]


def test_a_search_leaves_its_cache(tmp_path: Path) -> None:
    device, noted = FakeDevice(), list[RunResult]()
    asked = make_spec(tmp_path, "cache found\n", search=True)
    cache, run = tracing.search(ID, asked, device, noted.append)

    assert (cache, run.wall_s, len(noted)) == (b"found", 0.5, 1)
    assert "--fast-run" in device.runs[0]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("exit 1\nstderr no operator\n", f"{ID}: the plain build ended with 1 (failed): "),
        ("exit 133\n", f"{ID}: the plain build ended with 133 (trap): it said nothing"),
        ("output o 1\n", f"{ID}: the search ended well and left no algorithm cache"),
    ],
)
def test_a_search_that_fails_is_the_products_failure(tmp_path: Path, text: str, said: str) -> None:
    noted: list[RunResult] = []
    with pytest.raises(ProductFailure) as caught:
        tracing.search(ID, make_spec(tmp_path, text, search=True), FakeDevice(), noted.append)

    assert caught.value.message.startswith(said)
    assert len(noted) == 1


def test_a_profile_build_that_fails_is_named(tmp_path: Path) -> None:
    asked = make_spec(tmp_path, "trace 1\npromise 1\nexit 139\n")
    with pytest.raises(ProductFailure) as caught:
        tracing.trace(ID, asked, FakeDevice(), lambda _: None)

    assert caught.value.message == (
        f"{ID}: the profile build ended with 139 (crashed): it said nothing"
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("output o 1\n", TraceProblem.MISSING),
        ("trace 1\npromise 2\n", TraceProblem.TRUNCATED),
        ("trace 1\n", TraceProblem.STALE),
    ],
)
def test_a_trace_that_cannot_be_used_is_named(
    tmp_path: Path, text: str, problem: TraceProblem
) -> None:
    with pytest.raises(TraceFailure) as caught:
        tracing.trace(ID, make_spec(tmp_path, text), FakeDevice(), lambda _: None)

    assert caught.value.problem is problem
    assert caught.value.message.startswith(f"trace of {ID}: ")


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes, table: FunctionTable, *, source: str) -> tuple[str, ...]:
        assert table is TABLE
        assert source.endswith(f" of {ID}")
        return tuple(data.decode().split())

    monkeypatch.setattr(tracing, "read_table", lambda _path: TABLE)
    monkeypatch.setattr(probes, "parse_record", read)
    monkeypatch.setattr(qemu_log, "ran_in_log", read)


def recorded(
    folder: Path, device: FakeDevice, *, speaks: bool = True, application: bool = False
) -> tuple[tuple[str, ...], ProgramRun, list[RunResult]]:
    noted: list[RunResult] = []
    program, model = folder / "load_and_run", folder / "model"
    program.write_text("record main\n", encoding="utf-8")
    model.write_bytes(b"model")
    spec = RunSpec(
        program=program,
        model=model,
        arguments=("{model}",) if application else ("--cpu",),
        inputs={},
        threads=1,
        timeout_s=60,
        application=application,
    )
    found, run = tracing.ran(ID, spec, device, noted.append, observables=OBSERVABLES, speaks=speaks)
    assert found.link_sha256 == OBSERVABLES.link_sha256
    return found.names, run, noted


def plays(*texts: str) -> Fickle:
    return Fickle(plays=list(texts))


def test_what_all_runs_need_is_recorded(tmp_path: Path) -> None:
    """The scenario, longer names, no model, an unknown flag: the time is the scenario's.

    What is not observable is not listed.
    """
    device = plays(
        "record b _Exit\n", "record a\n", "record c\nexit 1\n", "record d a\nexit 1\nstderr what\n"
    )
    found, run, noted = recorded(tmp_path, device)

    assert found == ("a", "b", "c", "d")
    assert run is noted[0].run
    assert len(noted) == 4
    assert device.runs[0][:3] == ("load_and_run", "model.mge", "--cpu")
    assert device.runs[1][1].endswith("-model.mge")
    assert [sorted(files)[-1] for files in device.put[2:]] == ["load_and_run", "model.mge"]
    assert "--no-such-flag" in device.runs[3]


@pytest.mark.parametrize(("speaks", "application"), [(False, False), (True, True)])
def test_a_program_without_words_has_none_recorded(
    tmp_path: Path, speaks: bool, application: bool
) -> None:
    device = plays("record b\n", "record a\n")

    assert recorded(tmp_path, device, speaks=speaks, application=application)[0] == ("a", "b")
    assert device.plays == []


def test_an_emulator_reports_it_of_the_unfolded_link(tmp_path: Path) -> None:
    emulated, elsewhere = FakeDevice(kind="qemu"), FakeDevice(kind="adb")

    assert tracing.link_for(emulated) is Link.UNFOLDED
    assert tracing.link_for(elsewhere) is Link.PROBED
    assert recorded(tmp_path, emulated, speaks=False)[0] == ("logged", "main")
    assert recorded(tmp_path, elsewhere, speaks=False)[0] == ("main",)


@pytest.mark.parametrize("ends", [("exit 1\nstderr what()\n",), ("record a\n", "exit 1\n")])
def test_a_run_that_fails_is_the_product_s_fault(tmp_path: Path, ends: tuple[str, ...]) -> None:
    with pytest.raises(ProductFailure) as caught:
        recorded(tmp_path, plays(*ends))

    assert caught.value.message.startswith(f"{ID}: the link that shows its functions ended with 1")


def test_a_device_that_cannot_load_the_link_is_shown(tmp_path: Path) -> None:
    refused = "exit 1\nstderr x: libc.so.6: version `GLIBC_ABI_DT_RELR' not found\n"
    with pytest.raises(UnsupportedRelocations) as caught:
        recorded(tmp_path, plays(refused))

    assert caught.value.message.startswith("device pixel-6: its C library is older than glibc 2.36")


def test_a_twin_that_cannot_record_there_is_shown(tmp_path: Path) -> None:
    refusal = "exit 96\nstderr megtrim: functions cannot be recorded: no memory\n"
    with pytest.raises(InfrastructureFailure) as caught:
        recorded(tmp_path, plays(refusal))

    assert caught.value.message == f"{ID}: pixel-6: no memory"


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_a_run_that_leaves_no_record_is_no_empty_list(tmp_path: Path, runs: int) -> None:
    device = plays(*(["record a\n"] * (runs - 1)), *(["output o 1\n"] * (5 - runs)))
    with pytest.raises(InfrastructureFailure) as caught:
        recorded(tmp_path, device)

    assert caught.value.message == (
        f"{ID}: pixel-6 left no functions.bin, so its functions are not known"
    )
