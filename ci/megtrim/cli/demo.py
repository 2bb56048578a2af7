"""``megtrim demo``: a trim of the sample engine, which comes with megtrim, for its three models."""

from typing import Any

import click

from megtrim.build.engines.sample import find_embedded_source
from megtrim.cli.options import examples
from megtrim.cli.trim import trim

CONFIG = "functions.yaml"
_OPTIONS = ("out", "jobs", "quiet", "quick", "device", "as_json")


@examples("megtrim demo", "megtrim demo --out /tmp/demo --device virtual-phone")
@click.command(params=[option for option in trim.params if option.name in _OPTIONS])
@click.pass_context
def demo(context: click.Context, /, **values: Any) -> int:
    """Trim the small engine that comes with megtrim, and show what is left of it.

    It needs no checkout and no configuration, and takes zig, or else this machine's compiler. The
    page with the results is megtrim-out/final/index.html. A second run repeats only what changed.
    """
    status: int = context.invoke(trim, config=find_embedded_source() / CONFIG, **values)
    return status
