"""Attributed prices of a trim: from the references of its links, with nothing built again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from megtrim.build_spec import Link
from megtrim.chain.graph import (
    PROFILE,
    PROFILE_REFERENCES,
    REDUCED,
    SHIPPED_REFERENCES,
    trims_functions,
)
from megtrim.chain.session import Session, binary
from megtrim.elf import references as elf_references
from megtrim.elf.layout import ElfLayout
from megtrim.elf.symbol_table import read_linked
from megtrim.regions.keepset import (
    KeepSet,
    NeededParts,
    list_models,
    list_needs,
    model_of,
    select_scenarios,
)
from megtrim.size.prices.attributed import PricedProgram, RegionExtents, find_extents
from megtrim.size.prices.price_list import (
    Price,
    PriceKind,
    PriceList,
    sort_prices,
)
from megtrim.size.references import read_links as references
from megtrim.size.references.graph import find_dominators
from megtrim.trim.builds import links as linking
from megtrim.trim.builds.links import UntrimmedProgram
from megtrim.util.errors import InputError
from megtrim.util.value import Value


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
        others = {each.id for each in self.keep.scenarios} - ids
        return self.program.price(
            self.find_gone(select_scenarios(self.keep, others) if others else None)
        )

    def price_alone(self, ids: frozenset[str]) -> int:
        return self.size_bytes - self.program.price(
            self.find_gone(select_scenarios(self.keep, ids))
        )


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
        yield PricedArtifact(
            name=name,
            size_bytes=binary(session.results.done[REDUCED], name).stat().st_size,
            program=PricedProgram(
                graph=references.read_program(name, folder).graph,
                regions=frozenset(keep.regions()),
                dropped=frozenset(dropped),
                extents=_read_extents(name, session),
            ),
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
        session.services.console.note("finding what things cost")
        return tuple(map(make_price_list, open_artifacts(session)))
    except InputError as error:
        session.services.console.warn(f"what models cost will not be known: {error.message}")
        return ()


def make_price_list(artifact: PricedArtifact) -> PriceList:
    return PriceList(
        artifact=artifact.name,
        size_bytes=artifact.size_bytes,
        counts_regions=bool(artifact.program.extents),
        prices=sort_prices(
            (*_price_uses(artifact), *_price_operators(artifact), *_price_functions(artifact))
        ),
    )


def _group_scenarios(keep: KeepSet) -> Iterator[tuple[PriceKind, str, frozenset[str]]]:
    """Yield kind, name and scenarios."""
    for model in list_models(keep):
        ids = frozenset(each.id for each in keep.scenarios if model_of(each.id) == model)
        yield PriceKind.MODEL, model, ids
    for each in keep.scenarios:
        yield PriceKind.SCENARIO, each.id, frozenset([each.id])


def _read_extents(name: str, session: Session) -> Mapping[str, RegionExtents]:
    """Without a profile build, nothing is known of regions."""
    folder = session.results.done.get(PROFILE_REFERENCES)
    place = linking.locate_unstripped(Link.REFERENCED, name)
    if folder is None or place not in folder.files:
        return {}
    linked = references.read_program(name, folder)
    emitted = elf_references.read_emitted(ElfLayout(read_linked(folder.file(place))))
    return find_extents(linked, emitted) if emitted is not None else {}


def _price_uses(artifact: PricedArtifact) -> Iterator[Price]:
    for kind, name, ids in _group_scenarios(artifact.keep):
        yield Price(
            kind=kind,
            name=name,
            margin_bytes=artifact.price_margin(ids),
            alone_bytes=artifact.price_alone(ids),
        )


def _price_operators(artifact: PricedArtifact) -> Iterator[Price]:
    for name in sorted(list_needs(artifact.keep).operators):
        gone = NeededParts(operators=frozenset([name]))
        margin_bytes = artifact.program.price(gone)
        yield Price(kind=PriceKind.OPERATOR, name=name, margin_bytes=margin_bytes)


def _price_functions(artifact: PricedArtifact) -> Iterator[Price]:
    """Yield each function with what only it refers to."""
    graph = artifact.program.graph
    retained = find_dominators(graph, graph.roots).retained_bytes(graph.sizes)
    for part, size_bytes in zip(graph.parts, retained.tolist(), strict=True):
        if part.names and size_bytes and part.section.startswith(".text"):
            yield Price(
                kind=PriceKind.FUNCTION,
                name=part.name,
                margin_bytes=size_bytes,
                own_bytes=part.size_bytes,
            )
