"""Attributed prices next to real ones: of models, of the highest rows, and of a random sample."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

from megtrim.midout.keepset import KeepSet
from megtrim.midout.keepset_parts import NeededParts, leave_out_regions, select_scenarios
from megtrim.midout.region import Region
from megtrim.pipeline.building.shipped_links import RelinkedProgram
from megtrim.pipeline.pricing import built
from megtrim.pipeline.pricing.attributed import PricedArtifact, group_scenarios
from megtrim.pipeline.pricing.built import Obtain
from megtrim.pipeline.session import Session
from megtrim.size.prices.price_list import Calibration, Price, PriceKind, sort_prices


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceCheck:
    """Builds one artifact without a thing."""

    session: Session
    obtain: Obtain
    builds_alone: bool = True
    """Build for each model alone, too."""
    _sizes: dict[KeepSet, int] = field(default_factory=dict, repr=False, compare=False)
    """What was built: of two models, the one alone is what is left without the other."""
    _programs: dict[str, RelinkedProgram] = field(default_factory=dict, repr=False, compare=False)
    """What ships, by artifact: each function is left out of the same."""

    def build(self, artifact: PricedArtifact, price: Price) -> Price:
        """Return a price with its real one, where the thing can be left out alone."""
        regions = artifact.keep.regions()
        match price.kind:
            case PriceKind.MODEL | PriceKind.SCENARIO:
                return self._build_group(artifact, price)
            case PriceKind.REGION:
                gone = {each for each in regions if str(each) == price.name}
                return self._build_regions(artifact, price, frozenset(gone))
            case PriceKind.TAG:
                gone = {each for each in regions if each.tag == price.name}
                return self._build_regions(artifact, price, frozenset(gone))
            case PriceKind.FUNCTION:
                return self._link_without(artifact, price)
            case PriceKind.OPERATOR:
                return price  # what needs it would not be a model any more

    def calibrate(self, artifact: PricedArtifact, count: int, seed: int) -> Calibration:
        """Return a random sample of what is kept, each priced both ways.

        Functions are linked out, which takes a second each; by regions, each one is a build.
        """
        chosen = random.Random(seed)
        kind = PriceKind.REGION if artifact.untrimmed is None else PriceKind.FUNCTION
        ran = artifact.keep.functions()
        every = (
            [str(each) for each in sorted(artifact.keep.regions())]
            if artifact.untrimmed is None
            else [name for name in sorted(ran) if name in artifact.program.graph.by_name]
        )
        sample = chosen.sample(every, min(count, len(every)))
        prices = (
            self.build(artifact, Price(kind=kind, name=name, margin_bytes=0)) for name in sample
        )
        return Calibration(
            seed=seed,
            prices=sort_prices(each for each in prices if each.built_margin_bytes is not None),
        )

    def _build_group(self, artifact: PricedArtifact, price: Price) -> Price:
        """Build without a model or scenario, and with it alone."""
        ids = next(
            ids
            for kind, name, ids in group_scenarios(artifact.keep)
            if (kind, name) == (price.kind, price.name)
        )
        others = {each.id for each in artifact.keep.scenarios} - ids
        if not others:
            return replace(price, built_alone_bytes=artifact.size_bytes)
        self._say(f"building without {price.name}")
        without = self._build(artifact, select_scenarios(artifact.keep, others))
        price = replace(price, built_margin_bytes=artifact.size_bytes - without)
        if not self.builds_alone:
            return price
        self._say(f"building for {price.name} alone")
        alone = self._build(artifact, select_scenarios(artifact.keep, ids))
        return replace(price, built_alone_bytes=alone)

    def _build_regions(
        self, artifact: PricedArtifact, price: Price, gone: frozenset[Region]
    ) -> Price:
        """Build without some regions; by functions that is no trim: what runs depends on them."""
        if artifact.untrimmed is not None:
            return price
        self._say(f"building without {price.name}")
        size_bytes = self._build(artifact, leave_out_regions(artifact.keep, gone))
        parts = NeededParts(regions=gone)
        return replace(
            price,
            margin_bytes=artifact.program.price(parts),
            built_margin_bytes=artifact.size_bytes - size_bytes,
        )

    def _link_without(self, artifact: PricedArtifact, price: Price) -> Price:
        """Link without a function, and without those that share its code."""
        if artifact.untrimmed is None:
            return price
        groups = artifact.untrimmed.unfolded.observables.groups
        group = next((each for each in groups if price.name in each), None)
        if group is None:
            return price  # it stays whatever ran
        self._say(f"linking without {price.name}")
        if artifact.name not in self._programs:
            self._programs[artifact.name] = artifact.untrimmed.trim(artifact.keep)
        program = self._programs[artifact.name]
        dropped = tuple(sorted({*program.dropped, *group}))
        size_bytes = built.link(replace(program, dropped=dropped), self.session)
        parts = NeededParts(functions=frozenset(group))
        return replace(
            price,
            margin_bytes=artifact.program.price(parts),
            built_margin_bytes=artifact.size_bytes - size_bytes,
        )

    def _build(self, artifact: PricedArtifact, keep: KeepSet) -> int:
        """Return the size of the artifact for a keep set."""
        if keep not in self._sizes:
            self._sizes[keep] = self._make(artifact, keep)
        return self._sizes[keep]

    def _make(self, artifact: PricedArtifact, keep: KeepSet) -> int:
        """Build, or link where the objects stay the same or functions cannot be recorded again."""
        if artifact.untrimmed is not None and (
            self.session.request.committed or not keep.regions()
        ):
            return built.link(artifact.untrimmed.trim(keep), self.session)
        return built.build(keep, self.session, self.obtain)[artifact.name]

    def _say(self, text: str) -> None:
        self.session.services.console.say(f"price      {text}")
