from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.core.build_spec import Link
from megtrim.core.chain.filenames import TRACE_FILE
from megtrim.core.config.scenarios import all_scenarios
from megtrim.core.functions import probes, qemu_log
from megtrim.core.functions.observables import Observables
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.region import Region
from megtrim.core.keep.split_function import SplitFunction
from megtrim.core.keep.trace import Trace, TraceFailure, TraceProblem
from megtrim.core.trim.runs import tracing
from megtrim.core.trim.runs.complaints import list_complaints
from megtrim.core.trim.runs.execution import RunResult, RunSpec, run_on
from megtrim.core.trim.runs.scenario_runs import expect_as_traced, record_of
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.libs.elf.symbol_table import FunctionTable
from megtrim.libs.programs.app_outputs import PRINTED
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InfrastructureFailure, InputError, MegtrimError, ProductFailure
from megtrim.places.devices.relocation_support import UnsupportedRelocations
from megtrim.places.devices.retry import ProgramKilled
from unit.core.trim.stages.fake_device import FakeDevice, Fickle
from unit.core.trim.stages.support import changed, floats, only_scenario, open_session, trace


def make_spec(folder: Path, text: str = "output o 1 2\ntrace 3\n", **changes: Any) -> RunSpec:
    (folder / "load_and_run").write_text(text, encoding="utf-8")
    (folder / "m.mge").write_bytes(b"m.mge")
    spec = RunSpec(
        program=folder / "load_and_run",
        model=folder / "m.mge",
        arguments=("--cpu",),
        inputs={},
        threads=1,
        timeout_s=9.0,
    )
    return replace(spec, **changes)


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    for name in ("b.npy", "a.pgm", "found.cache", "lib.so"):
        (tmp_path / name).write_bytes(name.encode())
    return make_spec(tmp_path, inputs={"y": tmp_path / "b.npy", "x": tmp_path / "a.pgm"})


def says(spec: RunSpec, text: str) -> RunSpec:
    spec.program.write_text(text, encoding="utf-8")
    return spec


def test_files_have_fixed_names_on_the_device(spec: RunSpec) -> None:
    """A found cache goes along, and ends the search; companions lie next to the program."""
    device = FakeDevice()
    found = replace(spec, search=True, companions=("lib.so",))
    found = found.with_cache(spec.program.with_name("found.cache"))
    variables = {"OMP_NUM_THREADS": "2"}
    run_on(device, replace(found, environment=variables))
    run_on(device, replace(spec, without_model=True))

    put, without_model = device.put
    assert {name: data for name, data in put.items() if name != "load_and_run"} == {
        "model.mge": b"m.mge",
        "input0.pgm": b"a.pgm",
        "input1.npy": b"b.npy",
        "algo.cache": b"found.cache",
        "lib.so": b"lib.so",
    }
    assert "model.mge" not in without_model
    for argv in device.runs:
        assert argv[:3] == ("load_and_run", "model.mge", "--cpu")
        assert "x:input0.pgm;y:input1.npy" in argv
    assert device.environments[0] == variables
    assert found.search is False
    # A prefix begins every name.
    prefixed = FakeDevice()
    run_on(prefixed, says(replace(spec, prefix="near-"), "exit 1\n"))
    assert set(prefixed.put[0]) == {
        "load_and_run",
        "near-model.mge",
        "near-input0.pgm",
        "near-input1.npy",
    }
    assert prefixed.runs[0][1] == "near-model.mge"
    assert spec.with_program(Path("/other/p")).program == Path("/other/p")


def test_outputs_and_what_was_recorded_are_fetched(spec: RunSpec) -> None:
    said = says(spec, "output o 1 2\ntrace 3\ncache c\n")
    result = run_on(FakeDevice(), replace(said, recorded=TRACE_FILE))

    assert result.outputs == {"o": floats(1, 2)}
    assert (result.cache, result.recorded) == (None, trace(3))
    assert run_on(FakeDevice(), said).recorded is None
    assert run_on(FakeDevice(), replace(spec, search=True)).cache == b"c"


@pytest.mark.parametrize(
    ("arguments", "outputs"),
    [(("{model}",), {PRINTED: b"cat\n"}), (("{model}", "--to={outputs}"), {"o": b"tiger"})],
)
def test_an_application_leaves_files_or_what_it_prints(
    spec: RunSpec, arguments: tuple[str, ...], outputs: dict[str, bytes]
) -> None:
    device = FakeDevice()
    own = says(
        replace(spec, application=True, arguments=("{model}",)), "print cat\nwrite o tiger\n"
    )
    found = run_on(device, replace(own, arguments=arguments))

    assert found.outputs == outputs
    assert device.runs[0][1] == "model.mge"


def test_a_run_that_was_killed_is_no_result(spec: RunSpec) -> None:
    with pytest.raises(ProgramKilled):
        run_on(FakeDevice(), says(spec, "exit 137\n"))


TRACE = Trace(regions=(Region("kern", (1,)),), sha256="b" * 64)


def kept(folder: Path, **changes: Any) -> KeepSet:
    now, _ = open_session(folder)
    scenario = next(all_scenarios(now.request.config))
    record = replace(record_of(scenario, now, TRACE), **changes)
    return KeepSet(generation=20220507, scenarios=(record,), operators=None)


@pytest.mark.parametrize(
    ("change", "reported"),
    [
        ({"model_sha256": "0" * 64}, "the model"),
        ({"arguments": ("--cpu", "--iter", "9")}, "the arguments"),
        ({"inputs": (("data", "0" * 64),)}, "an input"),
        ({"algo_cache_sha256": "0" * 64}, "the algorithm cache"),
        ({"threads": 4}, "the number of threads"),
    ],
)
def test_anything_else_is_refused(tmp_path: Path, change: dict[str, Any], reported: str) -> None:
    keep = kept(tmp_path, **change)
    now, _ = open_session(tmp_path)
    with pytest.raises(InputError) as refused:
        expect_as_traced(next(all_scenarios(now.request.config)), now, keep)

    assert refused.value.exit_code == 2
    assert refused.value.message == f"m/s@any is not what was traced: {reported} changed"


def test_a_scenario_runs_as_it_was_traced_or_not_at_all(tmp_path: Path) -> None:
    keep = kept(tmp_path)
    now, _ = open_session(tmp_path)
    scenario = only_scenario(now)

    expect_as_traced(scenario, now, keep)
    with pytest.raises(InputError, match="was not traced"):
        expect_as_traced(scenario, now, replace(keep, scenarios=()))


@pytest.mark.parametrize("known", [True, False])
def test_in_committed_mode_it_is_a_finding_of_the_verdict(tmp_path: Path, known: bool) -> None:
    other = kept(tmp_path, threads=4)
    keep = other if known else replace(other, scenarios=())
    now = changed(open_session(tmp_path)[0], committed=True)
    with pytest.raises(TraceFailure) as failed:
        expect_as_traced(next(all_scenarios(now.request.config)), now, keep)

    assert failed.value.problem is TraceProblem.STALE
    assert failed.value.exit_code == 1
    assert failed.value.message == (
        "m/s@any is not what was traced: the number of threads changed (stale trace)"
        if known
        else "m/s@any is not in the keep set: it was not traced (stale trace)"
    )
    assert failed.value.hint == (
        "trace it again, accept that, and commit the keep set: megtrim trim --accept"
        if known
        else "trace it, and commit the keep set: megtrim trim"
    )


ID = "m/s@any"
TABLE = cast(FunctionTable, object())
ADDRESSES = ("a", "b", "c", "d", "logged", "main")
"""Of functions that run, in place of numbers."""
OBSERVABLES = Observables(
    link_sha256="6e" * 32, groups=tuple((name,) for name in ("a", "b", "c", "d", "logged", "main"))
)


def test_a_trace_comes_parsed_and_as_it_was_written(tmp_path: Path) -> None:
    noted: list[RunResult] = []
    asked = make_spec(tmp_path, "trace 7 1\npromise 2\n", environment={"OMP_NUM_THREADS": "2"})
    device = FakeDevice()
    parsed, data, run = tracing.trace(ID, asked, MidoutTraces(), device, noted.append)

    assert parsed.regions == (Region("kern", (1,)), Region("kern", (7,)))
    assert data == trace(7, 1)
    assert [each.run for each in noted] == [run]
    assert device.environments == [{"OMP_NUM_THREADS": "2", "MIDOUT_OUTPUT": TRACE_FILE}]


def test_a_search_leaves_its_cache(tmp_path: Path) -> None:
    device = FakeDevice()
    noted = list[RunResult]()
    asked = make_spec(tmp_path, "cache found\n", search=True)
    cache, run = tracing.search(ID, asked, device, noted.append)

    assert (cache, run.wall_s, len(noted)) == (b"found", 0.5, 1)
    assert "--fast-run" in device.runs[0]


@pytest.mark.parametrize(
    ("search", "text", "said"),
    [
        (True, "exit 1\nstderr no operator\n", f"{ID}: the plain build ended with 1 (failed): "),
        (True, "exit 133\n", f"{ID}: the plain build ended with 133 (trap): it said nothing"),
        (True, "output o 1\n", f"{ID}: the search succeeded, but left no algorithm cache"),
        (False, "exit 139\n", f"{ID}: the profile build ended with 139 (crashed): it said nothing"),
    ],
)
def test_a_build_that_fails_is_the_products_failure(
    tmp_path: Path, search: bool, text: str, said: str
) -> None:
    noted: list[RunResult] = []
    asked = make_spec(tmp_path, text, search=search)
    with pytest.raises(ProductFailure) as caught:
        if search:
            tracing.search(ID, asked, FakeDevice(), noted.append)
        else:
            tracing.trace(ID, asked, MidoutTraces(), FakeDevice(), noted.append)

    assert caught.value.message.startswith(said)
    assert len(noted) == 1


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
        tracing.trace(ID, make_spec(tmp_path, text), MidoutTraces(), FakeDevice(), lambda _: None)

    assert caught.value.problem is problem
    assert caught.value.message.startswith(f"trace of {ID}: ")


@pytest.fixture(autouse=True)
def names(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(data: bytes, table: FunctionTable, *, source: str) -> tuple[str, ...]:
        assert table is TABLE
        assert source.endswith(f" of {ID}")
        return tuple(data.decode().split())

    def find(data: bytes, table: FunctionTable, *, source: str) -> set[int]:
        return {ADDRESSES.index(name) for name in read(data, table, source=source)}

    def name(table: FunctionTable, addresses: Iterable[int]) -> tuple[str, ...]:
        assert table is TABLE
        return tuple(ADDRESSES[each] for each in addresses)

    monkeypatch.setattr(tracing, "read_linked", lambda _path: b"")
    monkeypatch.setattr(tracing, "parse_table", lambda _data, source: TABLE)
    monkeypatch.setattr(tracing, "parse_block_map", lambda _data, source: ())
    monkeypatch.setattr(tracing, "find_blocks", lambda *_: {})
    monkeypatch.setattr(tracing, "holding", name)
    monkeypatch.setattr(probes, "parse_record", read)
    monkeypatch.setattr(qemu_log, "find_addresses", find)


def recorded(
    folder: Path, device: FakeDevice, *, speaks: bool = True, application: bool = False
) -> tuple[tuple[str, ...], ProgramRun, list[RunResult]]:
    noted: list[RunResult] = []
    arguments = ("{model}",) if application else ("--cpu",)
    spec = make_spec(folder, "record main\n", arguments=arguments, application=application)
    made = tracing.ran(ID, spec, device, noted.append, observables=OBSERVABLES, speaks=speaks)
    assert made.functions.link_sha256 == OBSERVABLES.link_sha256
    return made.functions.names, made.run, noted


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


@pytest.mark.parametrize(
    ("companions", "hint"),
    [
        ((), "run on the plain build?"),
        (("lib.so",), "leave SIGTRAP to the libraries that it loads?"),
    ],
)
def test_who_may_have_taken_the_signal(
    tmp_path: Path, companions: tuple[str, ...], hint: str
) -> None:
    (tmp_path / "lib.so").touch()
    spec = replace(make_spec(tmp_path, "exit 133\n"), companions=companions)
    with pytest.raises(ProductFailure) as caught:
        tracing.ran(ID, spec, FakeDevice(), lambda _: None, observables=OBSERVABLES, speaks=False)

    assert str(caught.value.hint).endswith(hint)


@pytest.mark.parametrize("splits", [False, True])
def test_a_map_of_blocks_is_read_only_where_blocks_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, splits: bool
) -> None:
    """A project may have one of its own, in a version that megtrim does not know."""

    def refuse(_data: bytes, source: str) -> None:
        raise InputError(source, hint="another version")

    monkeypatch.setattr(tracing, "parse_block_map", refuse)
    device = plays("record b\n", "record a\n")
    device.kind = "qemu"
    spec = make_spec(tmp_path, "record main\n")
    record = partial(tracing.ran, ID, spec, device, lambda _: None, observables=OBSERVABLES)
    if splits:
        with pytest.raises(InputError):
            record(speaks=False, splits=True)
    else:
        assert record(speaks=False).functions.names == ("a", "b", "logged")


def test_an_emulator_reports_it_of_the_unfolded_link(tmp_path: Path) -> None:
    emulated = FakeDevice(kind="qemu")
    elsewhere = FakeDevice(kind="adb")

    assert tracing.link_for(emulated, shared=False) is Link.UNFOLDED
    assert tracing.link_for(elsewhere, shared=False) is Link.PROBED
    assert tracing.link_for(emulated, shared=True) is Link.PROBED
    assert recorded(tmp_path, emulated, speaks=False)[0] == ("logged", "main")
    assert recorded(tmp_path, elsewhere, speaks=False)[0] == ("main",)


@pytest.mark.parametrize(
    ("ends", "fault", "said"),
    [
        (
            ["exit 1\nstderr what()\n"],
            ProductFailure,
            f"{ID}: the link that shows its functions ended with 1",
        ),
        (
            ["record a\n", "exit 1\n"],
            ProductFailure,
            f"{ID}: the link that shows its functions ended with 1",
        ),
        (
            ["exit 1\nstderr x: libc.so.6: version `GLIBC_ABI_DT_RELR' not found\n"],
            UnsupportedRelocations,
            "device pixel-6: its C library is older than glibc 2.36",
        ),
        (
            ["exit 96\nstderr megtrim: functions cannot be recorded: no memory\n"],
            InfrastructureFailure,
            f"{ID}: pixel-6: no memory",
        ),
    ],
    ids=["fails", "fails again", "cannot load", "cannot record"],
)
def test_a_run_that_fails_says_whose_fault_it_is(
    tmp_path: Path, ends: list[str], fault: type[MegtrimError], said: str
) -> None:
    with pytest.raises(fault) as caught:
        recorded(tmp_path, plays(*ends))

    assert caught.value.message.startswith(said)


@pytest.mark.parametrize("runs", [1, 2, 3, 4])
def test_a_run_that_leaves_no_record_is_no_empty_list(tmp_path: Path, runs: int) -> None:
    device = plays(*(["record a\n"] * (runs - 1)), *(["output o 1\n"] * (5 - runs)))
    with pytest.raises(InfrastructureFailure) as caught:
        recorded(tmp_path, device)

    assert caught.value.message == (
        f"{ID}: pixel-6 left no functions.bin, so its functions are not known"
    )


def test_what_a_failing_run_needs_keeps_its_functions_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks that a run with other data needs are joined."""
    blocks = {"main": ("main", "b"), "a": ("a", "c")}

    def find(_mapped: object, _table: object, ran: set[int]) -> dict[str, SplitFunction]:
        own = {name: {ADDRESSES.index(each) for each in of} for name, of in blocks.items()}
        return {
            name: SplitFunction(name=name, digest="0" * 16, numbers=tuple(sorted(of & ran)))
            for name, of in own.items()
            if of & ran
        }

    monkeypatch.setattr(tracing, "find_blocks", find)

    def runs(name: str, text: str) -> RunSpec:
        folder = tmp_path / name
        folder.mkdir()
        return make_spec(folder, text, arguments=("{model}",), application=True)

    spec = runs("own", "record main a\n")
    complaints = (runs("other", "record main b\n"), runs("failing", "record a c d\nexit 3\n"))
    made = tracing.ran(
        ID,
        spec,
        FakeDevice(kind=tracing.EMULATED),
        lambda _: None,
        observables=OBSERVABLES,
        speaks=False,
        complaints=complaints,
    )

    assert [str(each) for each in made.blocks] == [f"main {'0' * 16} 1 5"]
    assert {"a", "b", "c", "d", "main"} <= {*made.functions.names}


def test_what_an_engine_says_is_recorded_once(tmp_path: Path) -> None:
    """A missing model and an unknown flag are complaints as well."""
    spec = make_spec(tmp_path, "record main\n")
    device = FakeDevice(kind=tracing.EMULATED)
    complaints = tuple(list_complaints(spec, tmp_path / "damaged"))
    tracing.ran(
        ID,
        spec,
        device,
        lambda _: None,
        observables=OBSERVABLES,
        speaks=True,
        complaints=complaints,
    )

    assert len([run for run in device.runs if "--no-such-flag" in run]) == 1
    assert len(device.runs) == len(complaints) + 2
