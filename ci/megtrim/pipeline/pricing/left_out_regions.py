"""What the regions of a trim weigh in its plain program, by the links that show references."""

from __future__ import annotations

from megtrim.errors import InputError
from megtrim.pipeline import references
from megtrim.pipeline.pricing.attributed import PricedArtifact, read_profile
from megtrim.pipeline.session import Session
from megtrim.plan.graph import (
    PROFILE,
    PROFILE_REFERENCES,
    SHIPPED_REFERENCES,
    plain_references,
    trims_plain_build,
)
from megtrim.size.prices.region_additions import ProfiledTrim
from megtrim.size.prices.region_trim import RegionTrim
from megtrim.size.references.graph import ReferenceGraph

_NO_PROFILE = "only the profile build shows where regions are, and this trim has none"


def read_region_trim(name: str, session: Session) -> RegionTrim:
    """Return the regions of the plain program ``name``, and which of them are kept.

    The links are made now if they are not there yet. Raises InputError where there is no profile
    build, or where its link shows no references; what ended a link ends this as well.
    """
    return _read(name, session)[0]


def read_profiled_trim(name: str, session: Session) -> ProfiledTrim:
    """Return the same, with the programs that show what a region would bring back."""
    trim, profile = _read(name, session)
    shipped = references.read_program(name, session.results.expect(SHIPPED_REFERENCES)).graph
    return ProfiledTrim(trim=trim, profile=profile, shipped=shipped)


def join_profiled_trim(
    artifact: PricedArtifact, profile: ReferenceGraph, session: Session
) -> ProfiledTrim:
    """Return the same of an artifact whose programs were read already, all but the plain one."""
    plain = _read_plain(artifact.name, session)
    program = artifact.program
    trim = RegionTrim(plain=plain, extents=program.extents, kept=program.regions)
    return ProfiledTrim(trim=trim, profile=profile, shipped=program.graph)


def _read_plain(name: str, session: Session) -> ReferenceGraph:
    linked = session.results.expect(plain_references(session.request.config))
    return references.read_program(name, linked).graph


def _read(name: str, session: Session) -> tuple[RegionTrim, ReferenceGraph]:
    if trims_plain_build(session.request.config):
        msg = "trim.base: plain: found a trim by functions alone, expected one that trims regions"
        raise InputError(msg, hint="leave --quick or the key trim.base out, and trim again")
    if PROFILE not in session.results.done:
        raise InputError(_NO_PROFILE, hint="leave --committed out", command=("trim",))
    session.results.expect(PROFILE_REFERENCES)
    profile, extents = read_profile(name, session)
    if profile is None or not extents:
        msg = f"{name}: its profile build shows no region: no reference to one was found"
        raise InputError(msg, hint="this linker leaves no relocations: use another toolchain")
    plain = _read_plain(name, session)
    kept = frozenset(references.read_keep(session).regions())
    return RegionTrim(plain=plain, extents=extents, kept=kept), profile
