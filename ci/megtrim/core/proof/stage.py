"""Stage `verify`: each scenario runs on the plain and on the reduced build.

A run that ends badly is explained by the *profile* build: a minimum-size build traps on any error
and prints nothing.
"""

import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

from megtrim.core.chain.filenames import KEEP_SET_FILE
from megtrim.core.chain.graph import (
    DEFERRAL,
    PLAIN,
    PROFILE,
    REDUCED,
    TESTS,
    Task,
    defers_functions,
    keep_task,
    trims_functions,
)
from megtrim.core.chain.result_store import StageFolder, code_digest
from megtrim.core.chain.session import Session, scenario_inputs
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.scenarios import Scenario
from megtrim.core.evidence.binding import binding
from megtrim.core.keep.keepset_files import read_keep_set
from megtrim.core.proof import deferral, own_tests
from megtrim.core.proof.results import (
    DeferralResult,
    SuiteResult,
    VerificationOutcome,
    VerifyResult,
)
from megtrim.core.proof.trap_diagnosis import ensure_named_program, find_profile
from megtrim.core.proof.verification import TrapBeforeFailure, VerificationCase, prove
from megtrim.core.trim.builds import applications
from megtrim.core.trim.runs.execution import RunResult
from megtrim.core.trim.runs.scenario_runs import (
    cache_inputs,
    cache_of,
    expect_as_traced,
    make_run_spec,
    scenario_of,
)
from megtrim.places.devices.device import Lease
from megtrim.places.devices.retry import keep_first_failure, run_with_retries

_Ended = tuple[DeviceIdentity, VerificationOutcome]


def inputs(task: Task, session: Session) -> dict[str, str]:
    if task.id == DEFERRAL:
        return deferral.inputs(session)
    if task.id == TESTS:
        return own_tests.inputs(session)
    return named_inputs(scenario_of(task), session) | {
        # What is said of a trap: a committed list may lack what a scenario runs.
        "committed": str(session.request.options.committed)
    }


def result_type(task: Task) -> type[VerifyResult | DeferralResult | SuiteResult]:
    if task.id == TESTS:
        return SuiteResult
    return DeferralResult if task.id == DEFERRAL else VerifyResult


def named_inputs(scenario: Scenario, session: Session) -> dict[str, str]:
    named = scenario_inputs(scenario, session)
    named |= cache_inputs(scenario, session)
    return named | {
        **applications.digests(scenario, session, PLAIN, "plain"),
        **applications.digests(scenario, session, REDUCED, "reduced"),
        "keep set": _keep_set(session).files[KEEP_SET_FILE],
        "tolerance": repr(scenario.settings.allowed),
        # A proof of another version, which may have compared otherwise, proves nothing to this one.
        "megtrim": code_digest(),
    }


def work(task: Task, session: Session, folder: Path) -> VerifyResult | DeferralResult | SuiteResult:
    if task.id == DEFERRAL:
        return deferral.work(session, folder)
    if task.id == TESTS:
        return own_tests.work(session, folder)
    return _verify(scenario_of(task), session, folder)


def _verify(scenario: Scenario, session: Session, folder: Path) -> VerifyResult:
    keep = read_keep_set(_keep_set(session).file(KEEP_SET_FILE))
    expect_as_traced(scenario, session, keep)

    def note(build: str, seen: RunResult) -> None:
        log = f"{seen.run.stdout}{seen.run.stderr}exit status {seen.run.rc}\n"
        (folder / f"{build}.log").write_text(log, encoding="utf-8")
        outputs = folder / build
        shutil.rmtree(outputs, ignore_errors=True)  # of an attempt whose machine failed
        outputs.mkdir()
        for output, data in seen.outputs.items():
            kept = outputs / output
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(data)

    done = session.done
    trimmed = trims_functions(session.config)
    plain = applications.program(scenario, session.request, done[PLAIN])
    cache = cache_of(scenario, session)
    trial = VerificationCase(
        spec=make_run_spec(scenario, session, plain, cache=cache),
        reduced=applications.program(scenario, session.request, done[REDUCED]),
        # Where functions are trimmed, what is missing is asked of the named link first.
        profile=None if trimmed else find_profile(scenario, session, done.get(PROFILE)),
        keep=keep,
        tolerance=scenario.settings.allowed,
        vary=scenario.judgement.vary,
        rest=defers_functions(session.config),
        committed=session.request.options.committed,
        guarded=session.config.trim.on_missing == "error",
    )

    def prove_case(trial: VerificationCase, seen: list[_Ended]) -> _Ended:
        def attempt(lease: Lease) -> _Ended:
            device = DeviceIdentity(name=lease.name, kind=lease.kind, facts=lease.facts())
            try:
                return device, prove(trial, lease, note)
            except TrapBeforeFailure as trap:
                seen.append((device, trap.outcome))
                raise

        device = session.services.device(scenario)
        say = session.console.say
        again = partial(run_with_retries, device, attempt, say=say)
        return keep_first_failure(
            seen, again, good=lambda ended: ended[1].status is ScenarioStatus.PASS
        )

    device, outcome = prove_case(trial, [])
    # What explains is made while no phone waits for a compiler; then all of it runs once more on
    # one machine.
    if outcome.unexplained and trimmed:
        trial = replace(
            trial,
            named=ensure_named_program(scenario, session),
            profile=find_profile(scenario, session, done.get(PROFILE)),
        )
        device, outcome = prove_case(trial, [(device, outcome)])
    if outcome.unexplained and (made := session.results.obtain(PROFILE)):
        trial = replace(trial, profile=find_profile(scenario, session, made))
        device, outcome = prove_case(trial, [(device, outcome)])
    return VerifyResult(
        scenario=scenario.id,
        binding=binding(named_inputs(scenario, session)),
        day=session.request.today,
        device=device,
        outcome=outcome,
    )


def _keep_set(session: Session) -> StageFolder:
    return session.done[keep_task(session.config)]
