"""Stage `memory`: the largest resident set of each scenario on the trimmed program.

It is what the kernel says of a process, by GNU time: where the program runs on this machine, also
emulated. A phone's shell does not say it. What cannot be measured says why, and fails no trim.
"""

import hashlib
import json
from dataclasses import replace
from pathlib import Path

from megtrim.chain.graph import PLAIN, REDUCED, Task
from megtrim.chain.session import Session, scenario_inputs
from megtrim.config.scenarios import Scenario
from megtrim.devices.device import Device
from megtrim.devices.local import Local
from megtrim.load_and_run.arguments import flags, render_flags, set_flag
from megtrim.load_and_run.exit_status import RunOutcome, ending, error_message
from megtrim.size.memory.use import MemoryResult, MemoryUse, parse_peak, parse_plan
from megtrim.trim.builds import applications
from megtrim.trim.runs.execution import RunSpec, run_on
from megtrim.trim.runs.scenario_runs import cache_of, make_run_spec, scenario_of
from megtrim.util.errors import InputError, ProductFailure

_REPEATS = 2
_PEAK_FILE, _PLAN, _PLAN_FILE = "peak.txt", "plan", "plan/StaticMemoryInfo.json"


def inputs(task: Task, session: Session) -> dict[str, str]:
    scenario = scenario_of(task)
    return _describe(scenario, session) | {
        **applications.digests(scenario, session, PLAIN, "plain"),
        **applications.digests(scenario, session, REDUCED, "reduced"),
        "measured": str(find_timer(session.services.device(scenario))),
    }


def work(task: Task, session: Session, folder: Path) -> MemoryResult:
    try:
        return MemoryResult(use=_measure(scenario_of(task), session))
    except (InputError, ProductFailure) as error:
        return MemoryResult(use=None, reason=error.message)


def _describe(scenario: Scenario, session: Session) -> dict[str, str]:
    """Name all that a figure depends on but the program."""
    device, named = session.services.device(scenario), scenario_inputs(scenario, session)
    if scenario.searches and (cache := cache_of(scenario, session)):
        named["algorithm cache"] = hashlib.sha256(cache.read_bytes()).hexdigest()
    # Natively, another CPU may choose other kernels.
    facts = device.facts() if device.kind == Local.kind else {}
    return named | {"CPU model": facts.get("CPU model", "")}


def find_timer(device: Device) -> tuple[str, ...] | None:
    timer = device.which("time") if isinstance(device, Local) else None
    return (timer, "-o", _PEAK_FILE, "-f", "%M") if timer else None


def _measure(scenario: Scenario, session: Session) -> MemoryUse:
    device, request = session.services.device(scenario), session.request
    timer = find_timer(device)
    if not isinstance(device, Local) or timer is None:
        by_hand = "GNU time is not on the path; on Debian: apt-get install time"
        far = f"a device of kind {device.kind} does not say it"
        raise InputError(by_hand if isinstance(device, Local) else far)
    plain, reduced = (
        make_run_spec(
            *(scenario, session, applications.program(scenario, request, build)),
            cache=cache_of(scenario, session),
        )
        for build in (session.results.done[PLAIN], session.results.done[REDUCED])
    )
    timed = device.start_by(*timer)
    peaks = [parse_peak(_run(timed, reduced, _PEAK_FILE)) for _ in range(_REPEATS)]
    key = json.dumps(sorted((_describe(scenario, session) | {"timeout": ""}).items()))
    planned = None
    if not plain.application:
        # The plain program is asked: what writes it down is not in a trimmed one.
        dialect = session.services.engine.dialect()
        given = flags(plain.arguments, dialect=dialect, source=scenario.id)
        asked = render_flags(set_flag(given, "get_static_mem_info", _PLAN), dialect)
        try:
            planned = parse_plan(_run(device, replace(plain, arguments=asked), _PLAN_FILE))
        except ProductFailure:
            planned = None  # an engine without it refuses the flag
    return MemoryUse(
        key=hashlib.sha256(key.encode()).hexdigest(), peak_bytes=min(peaks), planned_bytes=planned
    )


def _run(device: Device, spec: RunSpec, recorded: str) -> bytes | None:
    with device.reserve() as lease:
        found = run_on(lease, replace(spec, recorded=recorded))
    if ending(found.run) is not RunOutcome.PASSED:
        said = error_message(found.run.stderr) or f"exit status {found.run.rc}"
        msg = f"the program did not run to its end while it was measured: {said}"
        raise ProductFailure(msg)
    return found.recorded
