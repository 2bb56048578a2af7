"""What each size optimisation and each switch that is off won: the program is built without it.

What was measured of a trim stays in its folder of results, and later reports show it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from megtrim.build_spec import Switch
from megtrim.config.model import TrimConfig
from megtrim.config.switches import switched_off, turn_on
from megtrim.engines.size_flags import SizeFlag, leave_out
from megtrim.errors import InputError, ProductFailure
from megtrim.pipeline.building import size_options
from megtrim.pipeline.pricing import built
from megtrim.pipeline.pricing.attributed import PricedArtifact
from megtrim.pipeline.pricing.built import Obtain
from megtrim.pipeline.result_content import content_of
from megtrim.pipeline.results import OptimisationResult
from megtrim.pipeline.session import Session
from megtrim.plan.graph import REDUCED, Stage, trims_plain_build
from megtrim.size.prices.price_list import SizeOptimisation
from megtrim.store import key_of

_SWITCHES = {str(each): each for each in Switch}


def list_optimisations(session: Session) -> tuple[SizeOptimisation, ...]:
    """Return all that the trim uses, none of them measured: optimisations, then switches."""
    return tuple(
        SizeOptimisation(name=name, value=value) for name, value in _list_used(session).items()
    )


def read_measured(artifact: str, session: Session) -> tuple[SizeOptimisation, ...]:
    """Return all that the trim uses, with what was measured of it; nothing if none was."""
    every = list_optimisations(session)
    rests_on, store = _name_inputs(session), session.services.store
    folders = []
    for each in every:
        key = key_of(Stage.REFERENCES, _name_result(artifact, each.name), rests_on)
        folders.append(store.find(Stage.REFERENCES, key, OptimisationResult))
    if not any(folders):
        return ()
    return tuple(
        folder.result_as(OptimisationResult).optimisation if folder else each
        for folder, each in zip(folders, every, strict=True)
    )


def _name_inputs(session: Session) -> dict[str, str]:
    return {"trimmed": content_of(session.results.done[REDUCED])}


def _name_result(artifact: str, name: str) -> str:
    return f"{artifact} without {name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimisationCheck:
    """Builds one artifact without an optimisation."""

    session: Session
    obtain: Obtain

    def measure(self, artifact: PricedArtifact, found: SizeOptimisation) -> SizeOptimisation:
        """Return an optimisation with what it won, or with why that cannot be built.

        What needs it goes with it, as a trim would leave it out. What was measured before of the
        same trim is not built again.
        """
        made, _ = self.session.services.store.ensure(
            Stage.REFERENCES,
            _name_result(artifact.name, found.name),
            _name_inputs(self.session),
            lambda _: OptimisationResult(optimisation=self._build_without(artifact, found)),
            OptimisationResult,
        )
        return made.result_as(OptimisationResult).optimisation

    def _build_without(self, artifact: PricedArtifact, found: SizeOptimisation) -> SizeOptimisation:
        trim = leave_out_one(self.session.request.config.trim, found.name)
        self.session.services.console.say(f"price      building without {found.name}")
        other = built.change_trim(self.session, trim)
        more = _list_used(self.session).keys() - _list_used(other).keys() - {found.name}
        try:
            sizes = built.build_as(trim, self.session, self.obtain)
        except (InputError, ProductFailure) as failure:
            return replace(found, note=f"not built: {failure.message.splitlines()[0]}")
        without_bytes = sizes[artifact.name]
        won_bytes = without_bytes - artifact.size_bytes
        return replace(
            found,
            without_bytes=without_bytes,
            won_bytes=won_bytes,
            won_share=won_bytes / without_bytes if without_bytes else 0.0,
            note=f"with {', '.join(sorted(more))}, which needs it" if more else "",
        )


def leave_out_one(trim: TrimConfig, name: str) -> TrimConfig:
    """Return the configuration without one size optimisation, or with one switch on."""
    if name in _SWITCHES:
        return turn_on(trim, _SWITCHES[name])
    return leave_out(trim, SizeFlag(name))


def _list_used(session: Session) -> dict[str, str]:
    return dict(_iter_used(session))


def _iter_used(session: Session) -> Iterator[tuple[str, str]]:
    for choice in size_options.choices(session):
        if not choice.why_not:
            yield str(choice.means), choice.value
    if not trims_plain_build(session.request.config):
        for switch in switched_off(session.request.config.trim):
            yield str(switch), "false"
