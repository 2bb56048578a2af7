import hashlib
import io
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from megtrim.chain.graph import LINKED, PLAIN, PROFILE, REDUCED
from megtrim.chain.session import Session
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.evidence.bundle import Bundle, BundleApplication, JobPurpose, read_bundle
from megtrim.evidence.evidence import EvidenceSet
from megtrim.jobs import worker
from megtrim.jobs.pack import pack
from megtrim.load_and_run.parity import EXACT, OutputResult
from megtrim.proof import stage as verify
from megtrim.proof import verification
from megtrim.proof.verification import OutputComparison, VerificationCase, prove
from megtrim.regions.trace import Trace
from megtrim.trim.builds import programs
from megtrim.trim.results import UnfoldedLinksResult
from megtrim.trim.runs.execution import RunSpec, run_on
from megtrim.trim.runs.scenario_runs import make_run_spec, record_of
from megtrim.trim.stages import profile
from megtrim.util.console import Console
from unit.evidence.support import BUNDLE, device
from unit.trim.stages.built import finish
from unit.trim.stages.fake_device import FakeDevice
from unit.trim.stages.own_applications import CONFIG, LIBRARY, SAYS, TRACES, built
from unit.trim.stages.support import evidence, keep_set


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def scenarios(made: Session) -> tuple[Scenario, Scenario]:
    one, two = all_scenarios(made.request.config)
    return one, two


def test_a_run_of_an_application(tmp_path: Path) -> None:
    made = built(tmp_path)
    scenario, _ = scenarios(made)
    lease = FakeDevice()
    program = programs.program(scenario, made.request, made.results.done[PLAIN])

    seen = run_on(lease, make_run_spec(scenario, made, program, cache=None))

    assert lease.runs == [("classify", "model.mge", "input0.npy")]
    assert sorted(lease.put[0]) == ["classify", "input0.npy", "model.mge"]
    assert seen.outputs == {"standard output": b"cat\n"}


def test_a_shared_object_goes_along(tmp_path: Path) -> None:
    made = built(tmp_path)
    _, scenario = scenarios(made)
    lease = FakeDevice()
    program = programs.program(scenario, made.request, made.results.done[REDUCED])

    seen = run_on(lease, make_run_spec(scenario, made, program, cache=None))

    assert lease.runs == [("served", "model.mge", "--to=dump")]
    assert lease.put[0][LIBRARY] == b"library of reduce/reduced"
    assert seen.outputs == {"o": b"cat"}


def test_what_a_run_depends_on_holds_the_shared_object(tmp_path: Path) -> None:
    made = built(tmp_path)
    one, two = scenarios(made)

    assert programs.digests(one, made, PLAIN, "plain") == {"plain": sha(SAYS[PLAIN])}
    assert programs.digests(two, made, PLAIN, "plain") == {
        "plain": sha(SAYS[PLAIN]),
        f"plain {LIBRARY}": sha("library of build/plain"),
    }
    named = verify.named_inputs(two, made)
    assert named[f"reduced {LIBRARY}"] == sha("library of reduce/reduced")
    assert named["arguments"] == "served '{model}' '--to={outputs}'"
    assert profile.named_inputs(two, made)[f"program {LIBRARY}"] == sha("library of build/profile")


def test_a_trace_is_bound_to_the_application(tmp_path: Path) -> None:
    made = built(tmp_path)
    record = record_of(scenarios(made)[1], made, Trace(regions=(), sha256="a"))

    assert record.arguments == ("served", "{model}", "--to={outputs}")


def compared(plain: dict[str, bytes], reduced: dict[str, bytes]) -> OutputComparison:
    seen = evidence(outputs=plain), evidence(outputs=reduced)
    return verification.compare_outputs(*seen, EXACT, application=True)


def test_equal_words_are_a_proof() -> None:
    same = {"standard output": b"cat\n"}
    output = OutputResult(name="standard output", size_bytes=4, equal=True, largest_difference=0.0)

    assert compared(same, same) == OutputComparison(
        status=ScenarioStatus.PASS,
        text="outputs equal to the last bit (1 output, 4 bytes)",
        outputs=(output,),
    )


@pytest.mark.parametrize(
    ("plain", "reduced", "said"),
    [
        ({"o": b"cat"}, {"o": b"dog"}, "output o: differs from byte 1 on (3 against 3 bytes)"),
        ({"o": b""}, {"o": b""}, "the output o is empty: that proves nothing"),
        ({}, {}, "the plain build wrote no output"),
        ({"o": b"cat"}, {}, "output o came from the plain build alone"),
    ],
)
def test_another_output_or_none_is_no_proof(
    plain: dict[str, bytes], reduced: dict[str, bytes], said: str
) -> None:
    found = compared(plain, reduced)

    assert (found.status, found.text) == ("parity", said)


def test_a_trap_is_explained_by_the_applications_own_profile_build(tmp_path: Path) -> None:
    says = SAYS | {PROFILE: "trace 1 7\npromise 2\nprint cat\n", REDUCED: "exit 133\n"}
    made = built(tmp_path, says=says)
    scenario, _ = scenarios(made)
    built_in = {
        task: programs.program(scenario, made.request, made.results.done[task]) for task in says
    }
    trial = VerificationCase(
        spec=make_run_spec(scenario, made, built_in[PLAIN], cache=None),
        reduced=built_in[REDUCED],
        profile=built_in[PROFILE],
        keep=keep_set(1),
        tolerance=EXACT,
    )

    ended = prove(trial, FakeDevice(), lambda _variant, _seen: None)

    assert ended.status == "trap"
    assert ended.missing_regions == ("kern<7>",)


def packed(made: Session, purpose: JobPurpose, to: Path) -> Bundle:
    pack(made, purpose, EvidenceSet(entries=()), to)
    return read_bundle(to)


def test_a_bundle_holds_applications_and_what_lies_next_to_them(tmp_path: Path) -> None:
    made = built(tmp_path)
    bundle = packed(made, JobPurpose.VERIFY, tmp_path / "bundle")

    variants = (("plain", PLAIN), ("profile", PROFILE), ("reduced", REDUCED))
    texts = {name: sha(SAYS[task]) for name, task in variants}
    assert bundle.programs == {}
    assert bundle.applications == (
        BundleApplication(name="classify", programs=texts, companions={}),
        BundleApplication(
            name="served",
            programs=texts,
            companions={name: {LIBRARY: sha(f"library of {task}")} for name, task in variants},
        ),
    )
    assert [each.application for each in bundle.scenarios] == ["classify", "served"]
    assert bundle.scenarios[1].arguments == ("{model}", "--to={outputs}")


@pytest.mark.parametrize("purpose", [JobPurpose.VERIFY, JobPurpose.TRACE])
def test_a_device_job_runs_applications(tmp_path: Path, purpose: JobPurpose) -> None:
    same = dict.fromkeys(SAYS, TRACES)
    made = built(tmp_path, says=same)
    bundle = packed(made, purpose, tmp_path / "bundle")
    lease = FakeDevice()
    (tmp_path / "work").mkdir()
    job = worker.DeviceJob(
        bundle=bundle,
        folder=tmp_path / "bundle",
        sha256=BUNDLE,
        work=tmp_path / "work",
        scenarios=bundle.scenarios,
        asked=device(name="board"),
        today=date(2027, 1, 31),
    )

    found = worker.run(job, lambda: lease, Console(io.StringIO()))

    (entry,) = found.evidence.entries
    assert [each.status for each in entry.results] == [ScenarioStatus.PASS] * 2
    libraries = [files[LIBRARY].decode() for files in lease.put if LIBRARY in files]
    expected = (
        ("build/plain", "reduce/reduced") if purpose is JobPurpose.VERIFY else ("build/profile",)
    )
    assert libraries == [f"library of {task}" for task in expected]


def test_functions_are_recorded_of_applications_that_hold_the_engine(tmp_path: Path) -> None:
    made = built(tmp_path, config=CONFIG + "trim: {level: function}\n")
    links = {f"links/{label}/classify": label for label in ("unfolded", "probed")}
    links["links/unfolded/classify.observables"] = "observables"
    finish(made, LINKED, links)
    made.results.done[LINKED] = replace(
        made.results.done[LINKED], result=UnfoldedLinksResult(links={"classify": "7" * 64})
    )
    bundle = packed(made, JobPurpose.RECORD, tmp_path / "bundle")

    assert [(each.application, each.link) for each in bundle.scenarios] == [("classify", "7" * 64)]
    assert bundle.applications == (
        BundleApplication(
            name="classify",
            programs={name: sha(name) for name in ("unfolded", "probed", "observables")},
            companions={},
        ),
    )


def test_an_order_without_application_is_the_engines(tmp_path: Path) -> None:
    program = tmp_path / "load_and_run"
    program.write_text("output o 1 2 3\n", encoding="utf-8")
    (tmp_path / "m").write_bytes(b"model")
    spec = RunSpec(
        program=program,
        model=tmp_path / "m",
        arguments=("--cpu",),
        inputs={},
        threads=1,
        timeout_s=1.0,
    )
    lease = FakeDevice()
    run_on(lease, spec)

    assert lease.runs[0][:3] == ("load_and_run", "model.mge", "--cpu")
    assert sorted(lease.put[0]) == ["load_and_run", "model.mge"]
