"""Real prices: the program is built, or linked, once more without a thing, and measured.

Builds share the tree of the reduced build, so that only what depends on the difference is compiled.
What they leave in the folder of results is removed again: it is not the trim that was asked for.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from megtrim.build_spec import Link
from megtrim.config.model import Config, TrimConfig
from megtrim.config.scenarios import scenario_id
from megtrim.midout.keepset import KeepSet
from megtrim.pipeline import committed_keepset, references
from megtrim.pipeline.building import links as linking
from megtrim.pipeline.building import shipped_links, variants
from megtrim.pipeline.building.shipped_links import RelinkedProgram
from megtrim.pipeline.results import ReduceResult
from megtrim.pipeline.session import Session, TaskResults
from megtrim.plan.graph import REDUCED, trims_functions
from megtrim.store import StageFolder

Obtain = Callable[[str, Session], StageFolder | None]
"""Makes a task of a session with all that it depends on; the runner's."""


def build(keep: KeepSet, session: Session, obtain: Obtain) -> Mapping[str, int]:
    """Return the bytes of each artifact as a trim makes it for a smaller keep set.

    By functions, the scenarios that are left run again, because what is linked changes with the
    regions. Raises what failed.
    """
    config = _select_scenarios(session.request.config, {each.id for each in keep.scenarios})
    return _make(config, keep, session, obtain)


def build_as(trim: TrimConfig, session: Session, obtain: Obtain) -> Mapping[str, int]:
    """Return the bytes of each artifact as a trim makes it in another way for the same scenarios.

    By functions, all of them run again. Raises what failed.
    """
    config = session.request.config.model_copy(update={"trim": trim})
    return _make(config, references.read_keep(session), session, obtain)


def change_trim(session: Session, trim: TrimConfig) -> Session:
    """Return the session of a trim that is made in another way, without results."""
    request = session.request
    loaded = replace(request.loaded, config=request.config.model_copy(update={"trim": trim}))
    return replace(session, request=replace(request, loaded=loaded), results=TaskResults())


def _make(config: Config, keep: KeepSet, session: Session, obtain: Obtain) -> Mapping[str, int]:
    with tempfile.TemporaryDirectory(prefix="prices-", dir=session.services.store.root) as scratch:
        other = _make_session(config, keep, session, Path(scratch) / "keepset")
        with _removing(session, other):
            made = obtain(REDUCED, other)
            if made is None:
                raise next(iter(other.results.failed.values()))
            return made.result_as(ReduceResult).build.artifacts


def link(program: RelinkedProgram, session: Session) -> int:
    """Return the bytes of a program that is linked again, stripped."""
    spec = shipped_links.specify_link(program, session)
    with tempfile.TemporaryDirectory(prefix="prices-", dir=session.services.store.root) as scratch:
        folder = Path(scratch)
        variants.link(session, linking.make_base_spec(session), (spec,), folder)
        return (folder / linking.locate_stripped(Link.SHIPPED, program.target)).stat().st_size


def _make_session(config: Config, keep: KeepSet, session: Session, folder: Path) -> Session:
    """Return the session of a trim with a configuration that has a keep set's scenarios.

    By regions, the keep set itself is what is built from. By functions, the scenarios are recorded
    again, as the configuration names them.
    """
    request = session.request
    config = config.model_copy(update={"keep_set": folder})
    by_keep_set = request.committed or not trims_functions(request.config)
    if by_keep_set:
        committed_keepset.write_committed(folder, keep)
    loaded = replace(request.loaded, config=config)
    request = replace(request, loaded=loaded, committed=by_keep_set, accept=False, trial=True)
    return replace(session, request=request, results=TaskResults())


def _select_scenarios(config: Config, ids: set[str]) -> Config:
    """Return the configuration with these scenarios only."""
    models = []
    for model in config.models:
        scenarios = []
        for each in model.scenarios:
            classes = [
                name for name in each.classes if scenario_id(model.name, each.name, name) in ids
            ]
            if classes:
                scenarios.append(each.model_copy(update={"classes": classes}))
        if scenarios:
            models.append(model.model_copy(update={"scenarios": scenarios}))
    return config.model_copy(update={"models": models})


@contextmanager
def _removing(session: Session, other: Session) -> Iterator[None]:
    """Remove the results that the other session alone has."""
    before = {*session.services.store.root.glob("*/*/manifest.json")}
    try:
        yield
    finally:
        for each in other.results.done.values():
            if each.path / "manifest.json" not in before:
                shutil.rmtree(each.path, ignore_errors=True)
