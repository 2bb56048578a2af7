"""Finds the full trim of the same configuration, so that --quick can be compared with it.

Nothing is made here. A folder of results may serve several configurations, so a build counts only
if it is of these very scenarios, trimmed as this configuration says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from megtrim.build_spec import Variant
from megtrim.chain.filenames import KEEP_SET_FILE
from megtrim.chain.graph import (
    FUNCTIONS,
    HEADER,
    REDUCED,
    Stage,
    region_task,
    task_name,
    trims_functions,
    trims_plain_build,
)
from megtrim.chain.session import Session, TaskResults
from megtrim.chain.store import StageFolder, key_of
from megtrim.regions.keepset import bindings, read_keep_set
from megtrim.trim.builds import links, variants
from megtrim.trim.results import FunctionsKeepSetResult, HeaderResult, ReduceResult

FUNCTION = "function"
"""Name of the full trim's program where the quick one's is shown, too, which is *reduced*."""

_Bound = tuple[tuple[object, ...], ...]
"""Which scenarios a keep set is of, as :func:`megtrim.regions.keepset.bindings` says it."""


def find_builds(session: Session) -> Mapping[str, StageFolder]:
    """Return the build by regions, and that by functions as well, if the full trim has them."""
    full = session.request.full
    if full is None or trims_plain_build(full.config):
        return {}
    options = replace(session.request.options, quick=False)
    request = replace(session.request, loaded=full, options=options)
    as_full = replace(session, request=request, results=TaskResults())
    bound = _read_bindings(session.results.done[FUNCTIONS])
    header = _header(as_full, bound)
    if header is None:
        return {}
    as_full.results.done[HEADER] = header
    function = _by_functions(as_full, bound) if trims_functions(full.config) else None
    builds = {Variant.REGION: _by_regions(as_full, header), FUNCTION: function}
    return {name: build for name, build in builds.items() if build is not None}


def _header(session: Session, bound: _Bound) -> StageFolder | None:
    """Find the newest header of these scenarios that a build was made with."""
    form = {"layout": session.request.config.trim.layout}

    def fits(header: StageFolder) -> bool:
        alike = _has(header, form) and _read_bindings(header) == bound
        return alike and _by_regions(session, header) is not None

    return session.services.store.previous(Stage.HEADER, HeaderResult, fits=fits)


def _by_regions(session: Session, header: StageFolder) -> StageFolder | None:
    results = TaskResults(done={HEADER: header})
    inputs = variants.region_inputs(replace(session, results=results))
    name = task_name(region_task(session.request.config))
    return session.services.store.find(
        Stage.REDUCE, key_of(Stage.REDUCE, name, inputs), ReduceResult
    )


def _by_functions(session: Session, bound: _Bound) -> StageFolder | None:
    """Find the link of that build: by a keep set of these scenarios, whoever recorded it."""
    wanted = links.shipped_inputs(session)

    def find_keep_folder(digest: str | None) -> StageFolder | None:
        def fits(keep: StageFolder) -> bool:
            return keep.files.get(KEEP_SET_FILE) == digest and _read_bindings(keep) == bound

        return session.services.store.previous(
            Stage.FUNCTIONS, FunctionsKeepSetResult, task_name(FUNCTIONS), fits=fits
        )

    def fits(link: StageFolder) -> bool:
        return _has(link, wanted) and find_keep_folder(link.inputs.get(links.KEEP_SET)) is not None

    return session.services.store.previous(
        Stage.REDUCE, ReduceResult, task_name(REDUCED), fits=fits
    )


def _has(folder: StageFolder, inputs: Mapping[str, str]) -> bool:
    return all(folder.inputs.get(label) == value for label, value in inputs.items())


def _read_bindings(folder: StageFolder) -> _Bound:
    return bindings(read_keep_set(folder.file(KEEP_SET_FILE)))
