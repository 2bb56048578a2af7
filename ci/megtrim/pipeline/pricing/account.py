"""What a trim says of the bytes of what ships with `trim.prices`: what they cost, and for what."""

from __future__ import annotations

from dataclasses import dataclass, replace

from megtrim.errors import InputError
from megtrim.pipeline.pricing.attributed import make_price_list, open_artifacts
from megtrim.pipeline.pricing.optimisations import read_measured
from megtrim.pipeline.pricing.reasons import find_reasons
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PROFILE, PROFILE_REFERENCES, SHIPPED_REFERENCES
from megtrim.size.prices.price_list import PriceList
from megtrim.size.prices.reasons import SizeReasons


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeAccount:
    """Of every file whose link shows its references; empty where that was not asked for."""

    prices: tuple[PriceList, ...] = ()
    reasons: tuple[SizeReasons, ...] = ()


def make_account(session: Session) -> SizeAccount:
    """Return the account of what ships; an empty one, with a warning, where it cannot be found."""
    if not session.request.config.trim.prices:
        return SizeAccount()
    prices, reasons = [], []
    try:
        if PROFILE in session.results.done:
            session.results.obtain(PROFILE_REFERENCES)
        if session.results.obtain(SHIPPED_REFERENCES) is None:
            return SizeAccount()
        session.services.console.note("finding what things cost, and why they stay")
        for each in open_artifacts(session):  # a graph each: one at a time
            measured = read_measured(each.name, session)
            prices.append(replace(make_price_list(each, session), optimisations=measured))
            reasons.append(find_reasons(each, session))
    except InputError as error:
        session.services.console.warn(f"what models cost will not be known: {error.message}")
        return SizeAccount()
    return SizeAccount(prices=tuple(prices), reasons=tuple(reasons))
