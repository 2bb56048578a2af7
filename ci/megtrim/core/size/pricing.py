"""Attributed prices of a trim: an estimate by the references of its links; nothing is built.

Of functions that are left out a trap remains, which refers to nothing; then goes what only they
referred to. Where a region goes, the function that it is in stays: its references from that region
go, and so does its share of the function. An operator is reached from where it is registered, as
the engine says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property

import numpy as np

from megtrim.core.build_spec import Link
from megtrim.core.chain.graph import (
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    trims_functions,
)
from megtrim.core.chain.session import Session, binary
from megtrim.core.keep.keepset import (
    KeepSet,
    NeededParts,
    list_models,
    list_needs,
    model_of,
    select_scenarios,
)
from megtrim.core.keep.marks import RegionMarks
from megtrim.core.keep.operators import OperatorCode, strip_version
from megtrim.core.keep.region import Region
from megtrim.core.size.prices import Price, PriceKind, PriceList, sort_prices
from megtrim.core.size.references import stage as references
from megtrim.core.size.references.graph import Mask, Numbers, ReferenceGraph, count_retained
from megtrim.core.size.references.linked_file import LinkedFile, locate
from megtrim.core.trim.builds import links as linking
from megtrim.core.trim.builds.links import UntrimmedProgram
from megtrim.libs.elf import references as elf_references
from megtrim.libs.elf.layout import ElfLayout
from megtrim.libs.elf.references import References
from megtrim.libs.elf.symbol_names import identifiers
from megtrim.libs.elf.symbol_table import read_linked
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.value import Value


class PricedArtifact(Value):
    name: str
    size_bytes: int
    program: PricedProgram
    keep: KeepSet
    untrimmed: UntrimmedProgram | None
    """What functions are left out of; None where they are not trimmed."""

    def find_gone(self, keep: KeepSet | None) -> NeededParts:
        """Return what a smaller keep set does not need; None: no keep set."""
        needs = list_needs(keep) if keep else NeededParts()
        gone = list_needs(self.keep) - needs
        functions: frozenset[str] = frozenset()
        if self.untrimmed is not None:
            dropped = self.untrimmed.find_dropped(needs.functions)
            functions = frozenset(dropped) - self.program.dropped
        return NeededParts(regions=gone.regions, functions=functions, operators=gone.operators)

    def price_margin(self, ids: frozenset[str]) -> int:
        others = {scenario.id for scenario in self.keep.scenarios} - ids
        keep = select_scenarios(self.keep, others) if others else None
        return self.program.price(self.find_gone(keep))

    def price_alone(self, ids: frozenset[str]) -> int:
        gone = self.find_gone(select_scenarios(self.keep, ids))
        return self.size_bytes - self.program.price(gone)


def open_artifacts(session: Session) -> Iterator[PricedArtifact]:
    folder = session.results.done[SHIPPED_REFERENCES]
    keep = references.read_keep(session)
    linked_again = (
        linking.identities(session.results) if trims_functions(session.request.config) else {}
    )
    for name in session.request.config.artifacts:
        place = linking.locate_unstripped(Link.REFERENCED, name)
        if place not in folder.files:
            continue
        untrimmed = linking.read_program(name, session) if name in linked_again else None
        dropped = untrimmed.trim(keep).dropped if untrimmed else ()
        shipped = binary(session.results.done[REDUCED], name)
        program = PricedProgram(
            graph=references.read_program(name, folder).graph,
            regions=frozenset(keep.regions()),
            dropped=frozenset(dropped),
            extents=_read_extents(name, session),
            operator_code=session.services.engine.operator_code,
        )
        yield PricedArtifact(
            name=name,
            size_bytes=shipped.stat().st_size,
            program=program,
            keep=keep,
            untrimmed=untrimmed,
        )


def find_prices(session: Session) -> tuple[PriceList, ...]:
    """None, with a warning, where they cannot be found."""
    try:
        if PROFILE in session.results.done:
            session.results.obtain(PROFILE_REFERENCES)
        if session.results.obtain(SHIPPED_REFERENCES) is None:
            return ()
        session.services.console.note("finding prices")
        return tuple(map(make_price_list, open_artifacts(session)))
    except InputError as error:
        session.services.console.warn(f"the prices of models will not be known: {error.message}")
        return ()


def make_price_list(artifact: PricedArtifact) -> PriceList:
    return PriceList(
        artifact=artifact.name,
        size_bytes=artifact.size_bytes,
        counts_regions=bool(artifact.program.extents),
        prices=sort_prices(_iter_prices(artifact)),
    )


def _iter_prices(artifact: PricedArtifact) -> Iterator[Price]:
    ids = [scenario.id for scenario in artifact.keep.scenarios]
    models = (
        (PriceKind.MODEL, model, frozenset(id_ for id_ in ids if model_of(id_) == model))
        for model in list_models(artifact.keep)
    )
    scenarios = ((PriceKind.SCENARIO, id_, frozenset([id_])) for id_ in ids)
    for kind, name, own in (*models, *scenarios):
        margin_bytes = artifact.price_margin(own)
        alone_bytes = artifact.price_alone(own)
        yield Price(kind=kind, name=name, margin_bytes=margin_bytes, alone_bytes=alone_bytes)
    for name in sorted(list_needs(artifact.keep).operators):
        margin_bytes = artifact.program.price(NeededParts(operators=frozenset([name])))
        yield Price(kind=PriceKind.OPERATOR, name=name, margin_bytes=margin_bytes)
    graph = artifact.program.graph
    retained = count_retained(graph, graph.roots).tolist()
    for part, size_bytes in zip(graph.parts, retained, strict=True):
        if part.names and size_bytes and part.section.startswith(".text"):
            yield Price(
                kind=PriceKind.FUNCTION,
                name=part.name,
                margin_bytes=size_bytes,
                own_bytes=part.size_bytes,
            )


def _read_extents(name: str, session: Session) -> Mapping[str, RegionExtents]:
    folder = session.results.done.get(PROFILE_REFERENCES)
    place = linking.locate_unstripped(Link.REFERENCED, name)
    if folder is None or place not in folder.files:
        return {}
    linked = references.read_program(name, folder)
    emitted = elf_references.read_emitted(ElfLayout(read_linked(folder.file(place))))
    if emitted is None:
        return {}
    return find_extents(linked, emitted, session.services.marks)


class RegionExtents(Value):
    sizes: Mapping[Region | None, int]
    """Bytes of each region; None: of none."""
    references: Mapping[str, frozenset[Region | None]]
    """In which regions the function refers to a name."""

    def find_share(self, gone: frozenset[Region], kept: frozenset[Region]) -> float:
        there = {region: n for region, n in self.sizes.items() if region is None or region in kept}
        if gone.isdisjoint(there):
            return 0.0
        if not any(region is not None and region not in gone for region in there):
            return 1.0
        return sum(n for region, n in there.items() if region in gone) / sum(there.values())

    def goes_with(self, name: str, gone: frozenset[Region], kept: frozenset[Region]) -> bool:
        regions = self.references.get(name, frozenset())
        there = {region for region in regions if region is None or region in kept}
        return bool(there) and there <= gone


def find_extents(
    linked: LinkedFile, references: References, region_marks: RegionMarks
) -> dict[str, RegionExtents]:
    """``linked`` is the profile build's program, ``references`` are all of its by address."""
    marks = _find_marks(linked, region_marks)
    starts = np.array([stretch.start for stretch in linked.stretches], dtype=np.int64)
    ends = np.array([stretch.end for stretch in linked.stretches], dtype=np.int64)
    origins, targets = (locate(reference, starts, ends) for reference in references)
    marked = np.isin(targets, np.array(sorted(marks), dtype=np.int64))
    functions = [
        number
        for number in np.unique(origins[marked]).tolist()
        if number >= 0 and number not in marks and linked.graph.parts[number].names
    ]
    order = np.argsort(references.places, kind="stable")
    ordered = origins[order]
    found: dict[str, RegionExtents] = {}
    for number in functions:
        first, last = np.searchsorted(ordered, [number, number + 1])
        chosen = order[first:last]
        extents = _measure(linked, number, references.places[chosen], targets[chosen], marks)
        found |= dict.fromkeys(linked.graph.parts[number].names, extents)
    return found


def _find_marks(linked: LinkedFile, region_marks: RegionMarks) -> dict[int, Region]:
    names = {number: part.names[0] for number, part in enumerate(linked.graph.parts) if part.names}
    regions = region_marks.find_marked(names.values())
    return {number: regions[name] for number, name in names.items() if name in regions}


def _measure(
    linked: LinkedFile, number: int, places: Numbers, targets: Numbers, marks: Mapping[int, Region]
) -> RegionExtents:
    stretch = linked.stretches[number]
    sizes: dict[Region | None, int] = defaultdict(int)
    references: dict[str, set[Region | None]] = defaultdict(set)
    region: Region | None = None
    at = stretch.start
    for place, target in zip(places.tolist(), targets.tolist(), strict=True):
        if target not in marks:
            for name in linked.graph.parts[target].names if target >= 0 else ():
                references[name].add(region)
        elif marks[target] != region:
            sizes[region] += place - at
            at = place
            region = marks[target]
    sizes[region] += stretch.end - at
    return RegionExtents(
        sizes=dict(sizes), references={name: frozenset(found) for name, found in references.items()}
    )


TRAP_BYTES = 16


class PricedProgram(Value):
    graph: ReferenceGraph
    regions: frozenset[Region]
    dropped: frozenset[str]
    extents: Mapping[str, RegionExtents]
    """By functions of the profile build; empty where there is none."""
    operator_code: OperatorCode | None = None
    """None: an operator has no code of its own."""

    @cached_property
    def _reached(self) -> Mask:
        return self.graph.reach(self.graph.roots)

    @cached_property
    def _with_regions(self) -> Mapping[int, RegionExtents]:
        with_regions = {}
        for number, part in enumerate(self.graph.parts):
            for name in part.names:
                if extents := self.extents.get(name):
                    with_regions[number] = extents
                    break
        return with_regions

    @cached_property
    def _holders(self) -> tuple[int, ...]:
        code = self.operator_code
        if code is None:
            return ()
        return tuple(
            number for number, part in enumerate(self.graph.parts) if code.is_holder(part.names)
        )

    def price(self, gone: NeededParts) -> int:
        emptied = self._find_emptied(gone.functions)
        cut, shares = self._find_cut(gone)
        starts = [root for root in self.graph.roots if not emptied[root]]
        left = self.graph.reach(starts, emptied=emptied, cut=cut)
        left &= ~emptied
        shrunk = sum(
            share * max(self.graph.parts[number].size_bytes - TRAP_BYTES, 0)
            for number, share in shares.items()
            if left[number]
        )
        return self.graph.count_bytes(self._reached & ~left) + round(shrunk)

    def _find_emptied(self, functions: Collection[str]) -> Mask:
        without = self.dropped.union(functions)
        return self.graph.select(
            number
            for number in self.graph.find(functions)
            if all(
                name in without or name.startswith("$") for name in self.graph.parts[number].names
            )
        )

    def _find_cut(self, gone: NeededParts) -> tuple[Mask, dict[int, float]]:
        cut = np.zeros(len(self.graph.targets), dtype=bool)
        shares: dict[int, float] = {}
        for number, extents in self._with_regions.items():
            share = extents.find_share(gone.regions, self.regions)
            if share:
                shares[number] = share
                for at, target in self.graph.iter_references(number):
                    # A trap refers to nothing, not even to what the profile build inlined.
                    cut[at] = share == 1 or any(
                        extents.goes_with(name, gone.regions, self.regions)
                        for name in self.graph.parts[target].names
                    )
        if gone.operators and self.operator_code is not None:
            pattern = self.operator_code.make_pattern(gone.operators)
            for number in self._holders:
                for at, target in self.graph.iter_references(number):
                    words = identifiers(self.graph.parts[target].names)
                    cut[at] |= any(pattern.fullmatch(strip_version(word)) for word in words)
        return cut, shares
