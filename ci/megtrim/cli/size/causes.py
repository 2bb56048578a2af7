"""``megtrim size causes``: what each cause adds to the base, by building it with that one alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from megtrim.cli.echo import show
from megtrim.cli.session.setup import Options, common, describe, json_option, open_session
from megtrim.config.load import LoadedConfig
from megtrim.config.units import format_bytes, format_growth
from megtrim.errors import (
    EXIT_PASS,
    InputError,
    ProductFailure,
)
from megtrim.github.log_text import one_line
from megtrim.pipeline.building import one_cause
from megtrim.pipeline.building.build_inputs import read_build_inputs
from megtrim.pipeline.session import Session, binary
from megtrim.plan.graph import REDUCED
from megtrim.report.formatting import align_columns
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.exact import CauseBuild, ExactGrowth, divide_exactly
from megtrim.size.growth.inputs import InputChanges, compare_inputs, make_print
from megtrim.size.growth.notes import describe_causes
from megtrim.stages import runner
from megtrim.store import StageFolder

_FOLDER = "causes"


@click.command(
    "causes",
    epilog="""\b
A base to compare with: git worktree add ../base "$(git merge-base origin/main HEAD)"

\b
Examples:
  megtrim size causes --base ../base
  megtrim size causes --base ../base/megtrim.yaml --base-engine ../MegEngine-1.12 --json
""",
)
@common
@click.option(
    "--base",
    required=True,
    type=click.Path(path_type=Path),
    metavar="PATH",
    help="What it is compared with: a configuration, or a folder that holds one of the same name.",
)
@click.option(
    "--base-engine",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Engine checkout of the base, if its engine.source is not it.",
)
@json_option
def causes(base: Path, base_engine: Path | None, as_json: bool, **options: Any) -> int:
    """Build what ships once for each cause of its growth, and say what that one adds.

    Base and head are built by their committed keep sets, then the base once more for each cause
    that differs, with only that one as the head has it: sources, dependencies, keep set, models,
    flags, toolchain. What is left of the growth is what causes add only together. Builds go to the
    same folder of results, so each compiles what differs from the one before it.
    """
    chosen = Options(**options, committed=True)
    head = open_session(chosen)
    describe(head)
    path = base / chosen.config.name if base.is_dir() else base
    before = replace(chosen, config=path, engine=base_engine)
    built, old = _build(head), open_session(before)
    former = _build(old)
    changes = compare_inputs(
        make_print(read_build_inputs(former, old)), read_build_inputs(built, head)
    )
    sizes = [_weigh(*each) for each in ((former, old), (built, head))]
    if len(changes.causes) == 1:  # the head is that build
        builds: tuple[CauseBuild, ...] = (CauseBuild(cause=changes.causes[0], sizes=sizes[1]),)
    else:
        builds = tuple(_build_with(cause, before, (old, head), changes) for cause in changes.causes)
    growth = divide_exactly(sizes[0], sizes[1], builds)
    show(draw_data(growth, builds) if as_json else draw_text(growth, builds, changes))
    return EXIT_PASS


def _build(session: Session) -> StageFolder:
    """Return what ships. Raises what ended the build."""
    folder = runner.obtain(REDUCED, session)
    if folder is None:
        raise next(iter(session.results.failed.values()))
    return folder


def _build_with(
    cause: Cause, before: Options, sessions: tuple[Session, Session], changes: InputChanges
) -> CauseBuild:
    old, head = sessions
    old.services.console.say(f"the base with the head's {cause}")
    folder = before.results / _FOLDER / cause.replace(" ", "-")
    trees = [each.services.engine.checkout for each in sessions]
    keep = [each.request.path(each.request.config.keep_set) for each in sessions]
    if cause in (Cause.KEEP_SET, Cause.MODELS):
        base, theirs = keep
        kept = one_cause.compose_keep_set(base, theirs, changes, cause, folder / "keepset")
    else:
        kept = keep[0]

    def adapt(loaded: LoadedConfig) -> LoadedConfig:
        return one_cause.adapt_settings(loaded, head.request.loaded, cause, kept)

    try:
        tree = one_cause.compose_tree(trees[0], trees[1], cause, changes, folder / "engine")
        session = open_session(replace(before, engine=tree), adapt=adapt)
        return CauseBuild(cause=cause, sizes=_weigh(_build(session), session))
    except (ProductFailure, InputError) as error:
        # The head's sources may not compile with the base's build files, and so on.
        return CauseBuild(cause=cause, sizes={}, failure=one_line(error.message, most=200))


def _weigh(folder: StageFolder, session: Session) -> Mapping[str, int]:
    return {name: binary(folder, name).stat().st_size for name in session.request.config.artifacts}


def draw_data(growth: Sequence[ExactGrowth], builds: Sequence[CauseBuild]) -> str:
    """Return the numbers as JSON."""
    artifacts = {
        each.artifact: {
            "base_bytes": each.base_bytes,
            "head_bytes": each.head_bytes,
            "causes": {cause.value: grown for cause, grown in each.own},
            "together_bytes": each.together_bytes,
        }
        for each in growth
    }
    failures = {each.cause.value: each.failure for each in builds if each.failure}
    return json.dumps({"version": 1, "artifacts": artifacts, "not_built": failures}, indent=1)


def draw_text(
    growth: Sequence[ExactGrowth], builds: Sequence[CauseBuild], changes: InputChanges
) -> str:
    """Return a table for each artifact, what differs, and what could not be built."""
    notes = [f"{each.cause}: {one_line(each.seen)}" for each in describe_causes(changes)]
    failed = [
        f"{each.cause} cannot be built by itself: {each.failure}" for each in builds if each.failure
    ]
    return "\n\n".join(
        (
            *("\n".join(_draw(each)) for each in growth),
            *filter(None, ("\n".join(notes), "\n".join(failed))),
        )
    )


def _draw(growth: ExactGrowth) -> Iterator[str]:
    rows = [(cause.value, f"{grown:+,}", format_growth(grown)) for cause, grown in growth.own]
    if len(growth.own) + len(growth.unknown) > 1:
        more = growth.together_bytes
        name = f"together{', with ' + ', '.join(growth.unknown) if growth.unknown else ''}"
        rows.append((name, f"{more:+,}", format_growth(more)))
    whole = growth.growth_bytes
    rows.append(("[growth]", f"{whole:+,}", format_growth(whole)))
    sizes = f"{format_bytes(growth.base_bytes)} → {format_bytes(growth.head_bytes)}"
    yield f"{growth.artifact}  {sizes}"
    yield from align_columns(("cause", "bytes", ""), rows, ("cause",))
