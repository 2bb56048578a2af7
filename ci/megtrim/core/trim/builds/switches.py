"""Switches of the engine: options that leave out features that no model needs."""

from collections.abc import Iterable, Iterator, Sequence

from megtrim.core.build_spec import MINIMUM_SIZE, BuildSpec, Switch
from megtrim.core.chain.session import Session, TrimRequest
from megtrim.core.config.model import OPTIONS
from megtrim.libs.util.errors import InputError


def expect_switchable(session: Session, plain: BuildSpec) -> None:
    said = dict(_locate_switches(session.request, (True, False)))
    engine = session.services.engine
    for switch, where in said.items():
        if switch not in engine.switches:
            msg = f"{where}: the engine at {engine.checkout.root} has no option {OPTIONS[switch]}"
            raise InputError(msg, hint=f"switches that it has: {', '.join(engine.switches)}")
    if session.config.trim.switches.rtti:
        why = engine.find_forced_off(Switch.RTTI, session.services.toolchain, plain)
        if why:
            msg = f"{said[Switch.RTTI]}: found true, but it is {why}"
            raise InputError(msg, hint="leave it out")
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


def _refuse_flatbuffers_models(where: str, session: Session) -> None:
    models = session.services.engine.models
    if models is None:
        return
    for model in session.config.models:
        path = session.request.path(model.file)
        if models.read_is_flatbuffers(path):
            msg = f"{where}: the model {model.name} ({model.file}) is a FlatBuffers file"
            hint = "no build without FlatBuffers can load it: leave this switch on"
            raise InputError(msg, hint=hint)
        session.console.warn(
            f"{where}: {model.file} is in a format that megtrim cannot read; "
            "its scenarios will show whether it loads without FlatBuffers"
        )


def is_minimum_size(off: Iterable[Switch]) -> bool:
    return set(off) >= set(MINIMUM_SIZE)


def switch_options(off: Sequence[Switch], on: Sequence[Switch] = ()) -> dict[str, bool]:
    minimum = is_minimum_size(off)
    without = {OPTIONS[each]: False for each in off if not (minimum and each in MINIMUM_SIZE)}
    return {OPTIONS[each]: True for each in on} | without
