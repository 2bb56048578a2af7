"""A scenario's last proof: when it was last verified, and whether that was the same program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta

from megtrim.chain.graph import REDUCED, Stage, verify_task
from megtrim.chain.session import Session
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.scenarios import Scenario, all_scenarios
from megtrim.evidence.evidence import DAY_S
from megtrim.proof.results import VerifyResult
from megtrim.trim.builds import programs
from megtrim.util.wording import count


@dataclass(frozen=True, slots=True, kw_only=True)
class LastProof:
    """The newest verification of a scenario, which passed."""

    days: int
    """Its age; below -1 it is of a day to come, and would never grow old."""
    same: bool
    """Of this very program, not of an earlier one."""

    def is_expired(self, allowed_s: float) -> bool:
        """Tell whether it is older than allowed."""
        return self.days < -1 or self.days * DAY_S > allowed_s

    def describe_age(self, allowed_s: float) -> str:
        """Say how old it is: ``last proof 3 days old``."""
        ahead = self.days < -1
        text = (
            "last proof of a day to come" if ahead else f"last proof {count(self.days, 'day')} old"
        )
        text += "" if self.same else ", of another program"
        expired = f", allowed are {count(int(allowed_s // DAY_S), 'day')}"
        return text + expired * self.is_expired(allowed_s)


def last_proofs(session: Session) -> dict[str, LastProof | None]:
    """Return the last proof of each scenario without a result; None: its last word is none.

    An earlier program's counts as well: code that changes every day would else never be held to
    a device again. Every result of a stage is looked at, so ask once.
    """
    return {
        each.id: _last(session, each)
        for each in all_scenarios(session.request.config)
        if verify_task(each) not in session.results.done
    }


def find_expired(proofs: Mapping[str, LastProof | None], *, allowed_s: float) -> frozenset[str]:
    """Return the scenarios whose last proof is older than allowed."""
    return frozenset(
        id_ for id_, proof in proofs.items() if proof is not None and proof.is_expired(allowed_s)
    )


def ahead(session: Session) -> Iterator[str]:
    """Yield a warning where the day that all is judged by lies before what was verified already.

    Where the machine is, it may be tomorrow; a clock that was set back lets lapsed waivers count.
    """
    tasks = (verify_task(each) for each in all_scenarios(session.request.config))
    done = [session.results.done[task] for task in tasks if task in session.results.done]
    latest = max((each.result_as(VerifyResult).day for each in done), default=session.request.today)
    if latest > session.request.today + timedelta(days=1):
        yield f"this is the verdict of {session.request.today}, of what was verified on {latest}"


def _last(session: Session, scenario: Scenario) -> LastProof | None:
    last = session.services.store.previous(Stage.VERIFY, VerifyResult, scenario.id)
    if last is None:
        return None
    verified = last.result_as(VerifyResult)
    if verified.outcome.status is not ScenarioStatus.PASS:
        return None
    days = (session.request.today - verified.day).days
    now = (
        programs.digests(scenario, session, REDUCED, "reduced")
        if REDUCED in session.results.done
        else {}
    )
    same = bool(now) and all(last.inputs.get(label) == digest for label, digest in now.items())
    # One of tomorrow, by another clock, is of today.
    return LastProof(days=0 if days == -1 else days, same=same)
