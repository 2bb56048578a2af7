"""The clock: which day and time it is, unless MEGTRIM_NOW says another."""

import os
from datetime import UTC, date, datetime

from megtrim.libs.util.errors import InputError

CLOCK = "MEGTRIM_NOW"
"""A day, or a time in UTC, to take for the present: tests of waivers and proofs set it."""
_FIRST_YEAR = 1980
_LAST_YEAR = 9000
"""Files of zip archives begin with the one, and dates end soon after the other."""


def read_now() -> datetime:
    """Return the time in UTC. Raises InputError if MEGTRIM_NOW is no time."""
    given = os.environ.get(CLOCK, "")
    try:
        moment = datetime.fromisoformat(given) if given else datetime.now(UTC)
        now = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        if _FIRST_YEAR <= now.year <= _LAST_YEAR:
            return now
        raise ValueError
    except (ValueError, OverflowError):
        msg = f"{CLOCK}: found {given[:60]!r}, expected a day or a time, such as 2027-01-31"
        raise InputError(msg) from None


def describe_clock() -> str:
    given = os.environ.get(CLOCK)
    return f"{CLOCK} is set: waivers, proofs and evidence are judged as on {given}" if given else ""


def read_today() -> date:
    return read_now().date() if os.environ.get(CLOCK) else date.today()
