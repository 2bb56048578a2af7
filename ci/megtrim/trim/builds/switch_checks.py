"""Whether engine and models can do what is asked of switches, checked before any build."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build.engines import switches
from megtrim.build_spec import Switch, Variant
from megtrim.chain.session import Session, TrimRequest
from megtrim.config.model import OPTIONS
from megtrim.models.reader import read_is_flatbuffers
from megtrim.trim.builds import variants
from megtrim.util.errors import InputError


def expect_switchable(session: Session) -> None:
    """Refuse a switch that the tree does not have or cannot turn on, or a model needs."""
    said = dict(_locate_switches(session.request, (True, False)))
    engine = session.services.engine
    for switch, where in said.items():
        if switch not in engine.switches:
            msg = f"{where}: the engine at {engine.checkout.root} has no option {OPTIONS[switch]}"
            raise InputError(msg, hint=f"switches that it has: {', '.join(engine.switches)}")
    if session.request.config.trim.switches.rtti:
        _refuse_forced(Switch.RTTI, said[Switch.RTTI], session)
    without = dict(_locate_switches(session.request, (False,))).get(Switch.FLATBUFFERS)
    if without is not None:
        _refuse_flatbuffers_models(without, session)


def _locate_switches(
    request: TrimRequest, values: tuple[bool, ...]
) -> Iterator[tuple[Switch, str]]:
    """Yield each switch that is set to one of ``values``, and where."""
    loaded = request.loaded
    trim = loaded.config.trim
    for switch in Switch:
        if getattr(trim.switches, switch) in values:
            yield switch, loaded.describe("trim", "switches", switch)


def _refuse_forced(switch: Switch, where: str, session: Session) -> None:
    spec = variants.make_spec(session, Variant.PLAIN, {})
    why = switches.forced_off(
        switch, session.services.engine.checkout, session.services.toolchain, spec
    )
    if why:
        msg = f"{where}: found true, but it is {why}"
        raise InputError(msg, hint="leave it out")


def _refuse_flatbuffers_models(where: str, session: Session) -> None:
    for model in session.request.config.models:
        path = session.request.path(model.file)
        if read_is_flatbuffers(path):
            msg = f"{where}: the model {model.name} ({model.file}) is FlatBuffers"
            hint = "no build without FlatBuffers can load it: leave this switch on"
            raise InputError(msg, hint=hint)
        session.services.console.warn(
            f"{where}: {model.file} is in a format that megtrim cannot read; "
            "its scenarios will show whether it loads without FlatBuffers"
        )
