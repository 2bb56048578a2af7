from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.filenames import TRACE_FILE
from megtrim.devices.retry import ProgramKilled
from megtrim.load_and_run.app_outputs import PRINTED
from megtrim.trim.runs.execution import TRACE_VARIABLE, RunSpec, run_on
from unit.trim.stages.fake_device import FakeDevice
from unit.trim.stages.support import floats, trace


@pytest.fixture
def spec(tmp_path: Path) -> RunSpec:
    for name in ("m.mge", "b.npy", "a.pgm", "found.cache", "lib.so"):
        (tmp_path / name).write_bytes(name.encode())
    (tmp_path / "load_and_run").write_text("output o 1 2\ntrace 3\n", encoding="utf-8")
    return RunSpec(
        program=tmp_path / "load_and_run",
        model=tmp_path / "m.mge",
        arguments=("--cpu",),
        inputs={"y": tmp_path / "b.npy", "x": tmp_path / "a.pgm"},
        threads=1,
        timeout_s=9.0,
    )


def says(spec: RunSpec, text: str) -> RunSpec:
    spec.program.write_text(text, encoding="utf-8")
    return spec


def test_files_have_fixed_names_on_the_device(spec: RunSpec) -> None:
    device = FakeDevice()
    run_on(device, spec)

    [put] = device.put
    assert {name: data for name, data in put.items() if name != "load_and_run"} == {
        "model.mge": b"m.mge",
        "input0.pgm": b"a.pgm",
        "input1.npy": b"b.npy",
    }
    [argv] = device.runs
    assert argv[:3] == ("load_and_run", "model.mge", "--cpu")
    assert "x:input0.pgm;y:input1.npy" in argv


def test_outputs_and_trace_are_fetched(spec: RunSpec) -> None:
    result = run_on(FakeDevice(), says(spec, "output o 1 2\ntrace 3\ncache c\n"))

    assert result.outputs == {"o": floats(1, 2)}
    assert result.trace == trace(3)
    assert (result.cache, result.recorded) == (None, None)
    assert run_on(FakeDevice(), replace(spec, search=True)).cache == b"c"


def test_a_found_cache_goes_along_and_ends_the_search(spec: RunSpec) -> None:
    device = FakeDevice()
    found = replace(spec, search=True).with_cache(spec.model.with_name("found.cache"))
    run_on(device, found)

    assert device.put[0]["algo.cache"] == b"found.cache"
    assert found.search is False


def test_companions_lie_next_to_the_program(spec: RunSpec) -> None:
    device = FakeDevice()
    run_on(device, replace(spec, companions=("lib.so",)))

    assert device.put[0]["lib.so"] == b"lib.so"
    assert spec.with_program(Path("/other/p")).program == Path("/other/p")


def test_a_model_that_is_to_be_missing_is_named_and_not_there(spec: RunSpec) -> None:
    device = FakeDevice()
    run_on(device, replace(spec, without_model=True))

    assert "model.mge" not in device.put[0]
    assert device.runs[0][1] == "model.mge"


def test_a_prefix_begins_every_name(spec: RunSpec) -> None:
    device = FakeDevice()
    run_on(device, says(replace(spec, prefix="near-"), "exit 1\n"))

    assert set(device.put[0]) == {
        *("load_and_run", "near-model.mge", "near-input0.pgm", "near-input1.npy")
    }
    assert device.runs[0][1] == "near-model.mge"


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


def test_a_scenarios_variables_reach_the_program(spec: RunSpec) -> None:
    device = FakeDevice()
    run_on(device, replace(spec, environment={"OMP_NUM_THREADS": "2", TRACE_VARIABLE: "mine"}))

    assert device.environments == [{"OMP_NUM_THREADS": "2", TRACE_VARIABLE: TRACE_FILE}]
