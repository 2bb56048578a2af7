"""The generated header of this engine: made by the stage `header`, and foretold by a plan."""

from __future__ import annotations

from megtrim.midout.header import Layout, render
from megtrim.midout.keepset import KeepSet
from megtrim.midout.scoped_headers import Scopes
from megtrim.pipeline.session import Context


def files(keep: KeepSet, context: Context) -> dict[str, str]:
    """Return the generated files, name and text."""
    rendered = render(
        keep,
        layout=Layout(context.loaded.config.trim.layout),
        elemwise_modes=context.engine.elemwise_modes(),
        scopes=scopes(context),
    )
    return dict(rendered.files)


def scopes(context: Context) -> Scopes:
    """Return what of a keep set has files of its own: nothing in the upstream layout."""
    layout = Layout(context.loaded.config.trim.layout)
    return context.engine.scopes() if layout is Layout.SCOPED else Scopes()
