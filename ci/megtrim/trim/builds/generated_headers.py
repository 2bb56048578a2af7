"""The generated header of this engine: made by the stage `header`, and foretold by a plan."""

from __future__ import annotations

from megtrim.chain.session import Session
from megtrim.regions.header import Layout, render
from megtrim.regions.keepset import KeepSet
from megtrim.regions.scoped_headers import Scopes


def files(keep: KeepSet, session: Session) -> dict[str, str]:
    """Return the generated files, name and text."""
    rendered = render(
        keep,
        layout=Layout(session.request.config.trim.layout),
        elemwise_modes=session.services.engine.elemwise_modes(),
        scopes=scopes(session),
        crash_ids=session.request.config.trim.crash_ids,
    )
    return dict(rendered.files)


def scopes(session: Session) -> Scopes:
    """Return what of a keep set has files of its own: nothing in the upstream layout."""
    layout = Layout(session.request.config.trim.layout)
    return session.services.engine.scopes() if layout is Layout.SCOPED else Scopes()
