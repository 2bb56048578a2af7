"""What a scenario did on the trimmed program. Pure."""

from dataclasses import replace
from datetime import date
from typing import Annotated, Literal, assert_never

from pydantic import Field

from megtrim.core.chain.stage_result import StageResult
from megtrim.core.checks.check import Check, DeviceIdentity, ScenarioOutcome
from megtrim.core.checks.invocation import Invocation, ScenarioKind, suggest_for_scenario
from megtrim.core.checks.statuses import CheckKind, CheckStatus, ScenarioStatus
from megtrim.libs.programs.telemetry import Conditions
from megtrim.libs.util.errors import EXIT_PASS, ProductFailure
from megtrim.libs.util.value import Value
from megtrim.libs.util.wording import count


class ScenarioResult(ScenarioOutcome):
    id: str
    """MODEL/SCENARIO@CLASS; of a command NAME@CLASS."""
    model: str
    """Empty: it is a command, without a model."""
    scenario: str
    cpu_class: Annotated[str, Field(alias="class")]
    arguments: tuple[str, ...]
    device: str
    regions: int
    reproduce: str = ""
    binding: str = ""
    """The sha256 of all that it depends on except the device; empty if it was not reached."""


class VerificationOutcome(ScenarioOutcome):
    unexplained: bool = False
    """It ended badly, and the profile build, which may explain it, was not at hand."""


class DeferredCalls(Value):
    program: str
    scenario: str
    """Empty: none that passed runs functions that can be deferred."""
    moved: int
    """Functions that it runs and that were deferred for this."""
    called: int
    """Of them, those that the program's own record names; 0 where it keeps none."""
    outputs: str
    """How they compare."""

    def describe(self) -> str:
        if not self.scenario:
            return f"{self.program}: no scenario that passed runs a function that can be deferred"
        recorded = f", {self.called} of them seen" if self.called else ""
        return (
            f"{self.program}: {self.scenario} ran with {count(self.moved, 'function')} of its own "
            f"called from the companion file{recorded}; {self.outputs}"
        )


class VerifyResult(StageResult):
    scenario: str
    binding: str
    day: date
    device: DeviceIdentity
    outcome: VerificationOutcome

    @property
    def exit_code(self) -> int:
        passed = self.outcome.status is ScenarioStatus.PASS
        return EXIT_PASS if passed else ProductFailure.exit_code


class DeferralResult(StageResult):
    """What was seen of each program whose deferred functions were called."""

    programs: tuple[DeferredCalls, ...]

    def describe(self) -> str:
        return "; ".join(each.describe() for each in self.programs)


class FailedTest(Value):
    name: str
    how: str
    """With or without the companion file, and how it ended."""
    whole: bool
    """The companion file was there."""
    said: str


class TrappedTest(Value):
    name: str
    function: str
    """The first that it lacked; empty: it is not known."""

    def describe(self) -> str:
        if self.function:
            return f"it trapped: the function {self.function} is not kept"
        return "it trapped; in which function is not known"


class SuiteResult(StageResult):
    """What the project's own tests found that pass with the plain file."""

    target: str
    tests: int
    """All that there are."""
    passing: int
    """Those that pass with the plain file."""
    counted: int
    """Of these, those that load the trimmed file."""
    traps: tuple[TrappedTest, ...]
    """Of those that count, those that trapped in a function that was left out, as they may."""
    unloaded: tuple[str, ...]
    """Names of those that pass with the plain file and do not load the trimmed one."""
    failed: tuple[FailedTest, ...]
    deferring: bool
    keeping: bool = False
    """What the tests reach is kept, so none may trap."""
    unrecorded: tuple[str, ...] = ()
    """Names of those that count, and of which the keep set has no functions although they are kept.
    """

    @property
    def exit_code(self) -> int:
        return ProductFailure.exit_code if self.failed else EXIT_PASS

    def describe(self) -> str:
        if not self.counted:
            return (
                f"none of {count(self.passing, 'test')} that pass with the plain file load "
                f"{self.target}, so they show nothing of it"
            )
        wrong = count_names(tuple(each for each in self.failed if not each.whole))
        trapped = len(self.traps)
        ends = [f"{self.counted - trapped - wrong} pass"]
        if trapped:
            ends.append(f"{trapped} trap")
        if wrong:
            ends.append(f"{wrong} fail")
        how = ", ".join(ends)
        if self.deferring:
            with_it = tuple(each for each in self.failed if each.whole)
            passed = self.counted - count_names(with_it)
            how = f"with the companion file {passed} pass; without it {how}"
        return f"{self.counted} of {count(self.passing, 'test')} load {self.target}: {how}"


def count_names(failed: tuple[FailedTest, ...]) -> int:
    """A test may fail with the companion file and without it."""
    return len({each.name for each in failed})


def judge_tests(found: SuiteResult, check: Check, invocation: Invocation) -> Check:
    """Return the check with what was ``found``. Tests that show nothing are no pass."""
    lines = [f"{each.name}: {each.how}\n{each.said}" for each in found.failed]
    lines += [f"{each.name}: {each.describe()}" for each in found.traps]
    if found.unloaded:
        names = ", ".join(found.unloaded)
        lines.append(f"these do not load {found.target}, and do not count: {names}")
    if found.unrecorded:
        names = ", ".join(found.unrecorded)
        lines.append(f"the keep set has no functions of these, although they count: {names}")
    check = replace(check, text=found.describe(), detail="\n".join(lines))
    again = invocation.again("verify")
    if found.failed:
        hint = _suggest_for_failed(found)
        return replace(check, status=CheckStatus.FAIL, hint=hint, reproduce=again)
    if not found.counted:
        hint = "let the tests start the trimmed program, or link the trimmed shared library"
        return replace(check, status=CheckStatus.INCONCLUSIVE, hint=hint, reproduce=again)
    return check


def _suggest_for_failed(found: SuiteResult) -> str:
    if not found.keeping:
        return "add what such a test does as a scenario, or name functions in trim.keep"
    silent = [each.name for each in found.failed if each.name in found.unrecorded]
    if silent:
        left = f"{silent[0]} fails, and it left no record of its functions"
        return f"{left}: does it clear its environment?"
    return "does the test do other things in each run? Name functions in trim.keep"


STOPPED_BEFORE = "a stage before it did not succeed"
"""The end of the text of a scenario that was not asked: no device has a part in it."""
_NO_TRAP = "ran to its end, no trap"
_NOT_REACHED = "not reached, see {kind}"


def scenario_checks(
    scenario: ScenarioResult, *, invocation: Invocation, file: str, line: int, expired: bool
) -> tuple[Check, ...]:
    """``expired``: an unverified scenario's last proof is too old, which is a failure."""

    def check(kind: ScenarioKind, status: CheckStatus, text: str) -> Check:
        ended_here = status not in (CheckStatus.PASS, CheckStatus.SKIPPED)
        # Only the verdict stage finds a proof too old; a run would only show the cause.
        failed_by_age = kind is CheckKind.COVERAGE and status is CheckStatus.FAIL
        timed = ended_here or (kind is CheckKind.TRAP and status is CheckStatus.PASS)
        reproduce = invocation.again("stage verdict") if failed_by_age else scenario.reproduce
        check = Check(
            id=f"{kind}:{scenario.id}",
            kind=kind,
            subject=scenario.id,
            status=status,
            text=text,
            time_s=scenario.time_s if timed else 0.0,
            file=file,
            line=line,
            reproduce=reproduce,
        )
        if not ended_here:
            return check
        hint = suggest_for_scenario(kind, invocation)
        if scenario.text.endswith(STOPPED_BEFORE):
            hint = "mend what failed before it, and trim again"
        return replace(check, detail=detail(scenario), hint=hint)

    if scenario.status is ScenarioStatus.PASS:
        return (
            check(CheckKind.TRAP, CheckStatus.PASS, with_note(_NO_TRAP, scenario.conditions)),
            check(CheckKind.PARITY, CheckStatus.PASS, scenario.text),
        )
    kind, status = _ending(scenario.status, expired=expired)
    ending = check(kind, status, scenario.text)
    not_reached = _NOT_REACHED.format(kind=kind)
    if kind is CheckKind.PARITY:
        return (check(CheckKind.TRAP, CheckStatus.PASS, _NO_TRAP), ending)
    parity = check(CheckKind.PARITY, CheckStatus.SKIPPED, not_reached)
    if kind is CheckKind.TRAP:
        return (ending, parity)
    return (ending, check(CheckKind.TRAP, CheckStatus.SKIPPED, not_reached), parity)


def _ending(
    status: Literal[
        ScenarioStatus.TRAP,
        ScenarioStatus.PARITY,
        ScenarioStatus.ENGINE_ERROR,
        ScenarioStatus.TRACE,
        ScenarioStatus.INFRASTRUCTURE,
        ScenarioStatus.UNVERIFIED,
    ],
    *,
    expired: bool,
) -> tuple[ScenarioKind, CheckStatus]:
    match status:
        case ScenarioStatus.TRAP:
            return CheckKind.TRAP, CheckStatus.FAIL
        case ScenarioStatus.PARITY:
            return CheckKind.PARITY, CheckStatus.FAIL
        case ScenarioStatus.ENGINE_ERROR:
            return CheckKind.ENGINE, CheckStatus.FAIL
        case ScenarioStatus.TRACE:
            return CheckKind.TRACE, CheckStatus.FAIL
        case ScenarioStatus.INFRASTRUCTURE if not expired:
            return CheckKind.DEVICE, CheckStatus.INFRASTRUCTURE
        case ScenarioStatus.INFRASTRUCTURE | ScenarioStatus.UNVERIFIED:
            return CheckKind.COVERAGE, CheckStatus.FAIL if expired else CheckStatus.UNVERIFIED
        case _:
            assert_never(status)


def with_note(text: str, conditions: Conditions | None) -> str:
    note = conditions.note if conditions else ""
    return f"{text}; {note}" if note else text


def detail(scenario: ScenarioResult) -> str:
    arguments = " ".join(scenario.arguments) or "none"
    lines = [f"model: {scenario.model}"] if scenario.model else []
    lines += [f"arguments: {arguments}", f"device: {scenario.device}"]
    if scenario.attempts:
        lines += ["attempts:", *(f"  {attempt}" for attempt in scenario.attempts)]
    if scenario.missing_regions:
        lines.append(f"regions that are needed and were not kept: {len(scenario.missing_regions)}")
        lines += [f"  {region}" for region in scenario.missing_regions]
    differing = [output for output in scenario.outputs if not output.equal]
    for output in differing:
        largest = output.largest_difference
        shown = "not comparable" if largest is None else f"largest difference {largest:g}"
        lines.append(f"output {output.name}: {output.size_bytes} bytes, {shown}")
    if scenario.conditions is not None:
        measured = (*scenario.conditions.lines(), scenario.conditions.note)
        lines += ["measured before and after:", *(f"  {line}" for line in measured if line)]
    if scenario.crash.strip():
        lines += ["crash:", *(f"  {line}" for line in scenario.crash.splitlines())]
    if scenario.log_tail.strip():
        lines += ["end of the log:", scenario.log_tail.rstrip("\n")]
    return "\n".join(lines)
