"""What the regions of a trim weigh in its plain program, by the links that show references."""

from __future__ import annotations

from megtrim.errors import InputError
from megtrim.pipeline import references
from megtrim.pipeline.pricing.attributed import read_extents
from megtrim.pipeline.session import Session
from megtrim.plan.graph import PROFILE, PROFILE_REFERENCES, plain_references, trims_plain_build
from megtrim.size.prices.region_trim import RegionTrim

_NO_PROFILE = "only the profile build shows where regions are, and this trim has none"


def read_region_trim(name: str, session: Session) -> RegionTrim:
    """Return the regions of the plain program ``name``, and which of them are kept.

    The links are made now if they are not there yet. Raises InputError where there is no profile
    build, or where its link shows no references; what ended a link ends this as well.
    """
    if trims_plain_build(session.request.config):
        msg = "trim.base: plain: found a trim by functions alone, expected one that trims regions"
        raise InputError(msg, hint="leave --quick or the key trim.base out, and trim again")
    if PROFILE not in session.results.done:
        raise InputError(_NO_PROFILE, hint="leave --committed out", command=("trim",))
    session.results.expect(PROFILE_REFERENCES)
    linked = session.results.expect(plain_references(session.request.config))
    extents = read_extents(name, session)
    if not extents:
        msg = f"{name}: its profile build shows no region: no reference to one was found"
        raise InputError(msg, hint="this linker leaves no relocations: use another toolchain")
    plain = references.read_program(name, linked).graph
    kept = frozenset(references.read_keep(session).regions())
    return RegionTrim(plain=plain, extents=extents, kept=kept)
