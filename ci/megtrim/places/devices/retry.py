"""Work on a device, retried if the machine failed and not the program."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from megtrim.libs.programs.exit_status import ProgramRun, RunOutcome, ending, ending_signal
from megtrim.libs.util.errors import InfrastructureFailure
from megtrim.places.devices.device import Device, Lease, NoUsableMachine
from megtrim.places.devices.remote import crash_reports

T = TypeVar("T")

_RETRIES_OF_KILLED = 1
"""Minimum for any device: whatever killed the program may be over."""
_KILLED_HINT = (
    "a low-memory killer, a shutdown or a time limit of the host does that: look there, with dmesg "
    "or logcat; a program that sends the signal to itself looks the same"
)


class ProgramKilled(InfrastructureFailure):
    """A run was killed, apparently neither by megtrim nor by the program itself."""


def expect_not_killed(device: str, run: ProgramRun) -> None:
    if ending(run) is RunOutcome.KILLED:
        number = ending_signal(run) or 0
        signal = crash_reports.describe_signal(number)
        msg = f"{device}: {run.argv[0]} was {signal}, which megtrim did not send"
        raise ProgramKilled(msg, hint=_KILLED_HINT)


def run_with_retries(
    device: Device, work: Callable[[Lease], T], *, say: Callable[[str], None]
) -> T:
    """Return what ``work`` returns on a lease of the device; it must start from scratch each time.

    After ``device.retries`` retries (at least one for a program that was killed), or if no machine
    is left, raises the last InfrastructureFailure, with all attempts.
    """
    attempts: list[str] = []
    while True:
        where = device.name
        try:
            with device.reserve() as lease:
                where = lease.name
                return work(lease)
        except InfrastructureFailure as failure:
            attempts.append(f"{where}: {failure.message}")
            if isinstance(failure, NoUsableMachine) or len(attempts) > _retries(device, failure):
                raise _add_attempts(failure, attempts) from failure
            say(f"  again {where} failed ({failure.message}); attempt {len(attempts) + 1}")


def _retries(device: Device, failure: InfrastructureFailure) -> int:
    killed = isinstance(failure, ProgramKilled)
    return max(device.retries, _RETRIES_OF_KILLED) if killed else device.retries


def keep_first_failure(
    seen: Sequence[T], again: Callable[[], T], *, good: Callable[[T], bool]
) -> T:
    """Return what ``again`` returns, unless that would hide a failure in ``seen``.

    ``again`` may append to ``seen``. If ``again`` returns something good after all, or raises
    InfrastructureFailure, the first element of ``seen`` is returned instead.
    """
    try:
        ended = again()
    except InfrastructureFailure:
        if not seen:
            raise
        return seen[0]
    return seen[0] if seen and good(ended) else ended


def _add_attempts(failure: InfrastructureFailure, attempts: list[str]) -> InfrastructureFailure:
    count = len(attempts)
    message = failure.message if count == 1 else f"{failure.message} (attempt {count} of {count})"
    return InfrastructureFailure(message, hint=failure.hint, attempts=tuple(attempts))
