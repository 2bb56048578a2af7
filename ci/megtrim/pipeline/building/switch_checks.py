"""Whether engine and models can do what is asked of switches, told before anything is built."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.build_spec import Switch, Variant
from megtrim.engines import switches
from megtrim.errors import InputError
from megtrim.models.reader import read_is_flatbuffers
from megtrim.pipeline.building import variants
from megtrim.pipeline.session import Context


def expect_switchable(context: Context) -> None:
    """Raise InputError for a switch that the tree lacks, cannot turn on, or a model needs."""
    said = dict(_locate_switches(context, (True, False)))
    switches.refuse_unknown(said, context.engine.checkout)
    if context.loaded.config.trim.switches.rtti:
        _refuse_forced(Switch.RTTI, said[Switch.RTTI], context)
    without = dict(_locate_switches(context, (False,))).get(Switch.FLATBUFFERS)
    if without is not None:
        _refuse_flatbuffers_models(without, context)


def _locate_switches(context: Context, values: tuple[bool, ...]) -> Iterator[tuple[Switch, str]]:
    """Yield each switch that is set to one of ``values`` or measured, and where."""
    loaded = context.loaded
    trim = loaded.config.trim
    for index, switch in enumerate(trim.measure):
        line = loaded.line("trim", "measure", index)
        yield switch, f"{loaded.path}:{line}: trim.measure: {switch}"
    for switch in Switch:
        if getattr(trim.switches, switch) in values:
            line = loaded.line("trim", "switches", switch)
            yield switch, f"{loaded.path}:{line}: trim.switches.{switch}"


def _refuse_forced(switch: Switch, where: str, context: Context) -> None:
    spec = variants.make_spec(context, Variant.PLAIN, {})
    why = switches.forced_off(switch, context.engine.checkout, context.toolchain, spec)
    if why:
        msg = f"{where}: found true, but it is {why}"
        raise InputError(msg, hint="leave it out")


def _refuse_flatbuffers_models(where: str, context: Context) -> None:
    for model in context.loaded.config.models:
        path = context.path(model.file)
        if read_is_flatbuffers(path):
            msg = f"{where}: the model {model.name} ({model.file}) is FlatBuffers"
            hint = "no build without FlatBuffers can load it: leave this switch on"
            raise InputError(msg, hint=hint)
        context.console.warn(
            f"{where}: {model.file} is in a format that megtrim cannot read; "
            "its scenarios will show whether it loads without FlatBuffers"
        )
