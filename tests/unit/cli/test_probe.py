"""``megtrim probe``: which run is asked for, and what is said of one that fails."""

from pathlib import Path

import click
import pytest

from megtrim.build.engines.sample import SampleEngine, find_embedded_source
from megtrim.chain.session import Session
from megtrim.checks.invocation import Invocation, suggest_for_probe
from megtrim.checks.statuses import ScenarioStatus
from megtrim.cli import probe
from megtrim.proof.trap_diagnosis import Diagnosis
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.cli.support import Shell
from unit.trim.stages.support import changed, open_session


@pytest.mark.parametrize("text", ["data", "data=", "=a.npy", "", "="])
def test_an_input_without_name_or_file_is_refused(shell: Shell, text: str) -> None:
    shell("probe", "m.mge", "--input", text).expect(
        2, f"--input: found {text!r}, expected NAME=FILE"
    )


@pytest.fixture
def known(processes: ProcessRunner, tmp_path: Path) -> Session:
    return changed(
        open_session(tmp_path)[0], engine=SampleEngine(find_embedded_source(), processes)
    )


def wanted(model: str = "m", *arguments: str, **inputs: Path) -> probe.ProbeRequest:
    return probe.ProbeRequest(model=model, inputs=inputs, arguments=arguments)


def test_a_probe_runs_a_configured_model_or_any_file(known: Session, tmp_path: Path) -> None:
    other = tmp_path / "o=ther.mge"
    other.write_bytes(b"x")
    context = click.Context(probe.probe)
    inputs = probe._read_inputs(context, probe.probe.params[0], (f"data={other}",))

    by_name = probe._make_spec(wanted("m", "--cpu"), known)
    by_file = probe._make_spec(wanted(str(other), **inputs), known)

    assert (by_name.model, by_name.arguments) == (tmp_path / "m.mge", ("--cpu",))
    assert (by_file.model, dict(by_file.inputs)) == (other, {"data": other})


@pytest.mark.parametrize(
    ("found", "keeps"),
    [
        (Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", missing=("x<>",)), True),
        (
            Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", lacking_operators=("Pooling",)),
            True,
        ),
        (Diagnosis(status=ScenarioStatus.TRAP, text="-", log="", function="ns::one()"), True),
        (Diagnosis(status=ScenarioStatus.ENGINE_ERROR, text="-", log=""), False),
    ],
)
def test_a_probe_says_how_to_keep_what_was_missing(found: Diagnosis, keeps: bool) -> None:
    asked = Invocation(config="a.yaml", committed=True)
    *_, line = probe._render_outcome(wanted(), found, asked, as_json=False).splitlines()

    assert line == (f"  what to do: {suggest_for_probe(asked)}" if keeps else "  arguments  ")
    assert ("megtrim trim --config a.yaml --accept" in line) is keeps


@pytest.mark.parametrize("model", ["m/s", "m/s@any"])
def test_a_traced_scenario_is_not_probed(known: Session, model: str) -> None:
    with pytest.raises(InputError) as caught:
        probe._make_spec(wanted(model, "--cpu"), known)

    assert caught.value.message == (
        f"{model} is a traced scenario: it runs with what it was traced with"
    )
    assert caught.value.hint == (
        "probe its model: megtrim probe --config megtrim.yaml m -- ARGUMENT..."
    )


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (wanted("gone.mge"), "there is no file gone.mge to probe"),
        (wanted("m", data=Path("gone.npy")), "there is no file gone.npy to probe"),
        (wanted("m", "stray"), "probe: found the argument 'stray'"),
        (wanted("m", "--fast-run"), "probe: the flag --fast_run is not allowed in args"),
    ],
)
def test_a_probe_that_cannot_work_is_refused_before_building(
    known: Session, request_: probe.ProbeRequest, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        probe._make_spec(request_, known)

    assert caught.value.message.startswith(message)
