"""The keep set's file that the team commits: read, and held against what was traced now."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from megtrim.config.load import LoadedConfig
from megtrim.engines import Engine
from megtrim.errors import InputError
from megtrim.functions.names import brief
from megtrim.midout.keepset import (
    HINT,
    KeepSet,
    dump_keep_set,
    parse_keep_set,
    read_keep_set,
    shrunken,
    shrunken_functions,
)
from megtrim.midout.trace import TraceFailure, TraceProblem
from megtrim.plan.graph import from_plain
from megtrim.stages.context import Context
from megtrim.stages.files import KEEP_SET_FILE
from megtrim.store import Folder, write_atomically

_LISTED = 5


def read_committed(loaded: LoadedConfig, engine: Engine) -> KeepSet:
    """Read the keep set that the team committed, for committed mode.

    Raises InputError where there is none, one of another generation of midout's header, or one
    without regions where they are trimmed.
    """
    shown = loaded.config.keep_set
    path = loaded.resolve(shown)
    if not path.exists():
        msg = f"{shown}: there is no keep set, which --committed trims by"
        hint = "make it with megtrim trim or the trace-refresh workflow, and commit it"
        raise InputError(msg, hint=hint)
    keep = read_keep_set(path, shown=str(shown))
    generation = engine.identity().generation
    if keep.generation != generation:
        msg = (
            f"{shown}: found header generation {keep.generation}, "
            f"expected the engine's: {generation}"
        )
        raise InputError(msg, hint="the engine changed: trace it again with megtrim trim --accept")
    _expect_regions(keep, str(shown), loaded)
    return keep


def expect_readable(loaded: LoadedConfig) -> None:
    """Refuse a committed keep set that what is traced now could not be held against."""
    path = loaded.resolve(loaded.config.keep_set)
    if path.exists():
        read_keep_set(path, shown=str(loaded.config.keep_set))


def _expect_regions(keep: KeepSet, shown: str, loaded: LoadedConfig) -> None:
    """Refuse a file that would keep every region where they are to be trimmed."""
    # Without regions there is no generated midout.h, and neither ccache nor Ninja would notice
    # the next one: no header changed, one was added.
    if keep.regions() or from_plain(loaded.config):
        return
    msg = f"{shown}: no region is needed by any scenario, but regions are trimmed"
    raise InputError(msg, hint=HINT)


def settle(context: Context, folder: Folder) -> None:
    """Hold a keep set, new or not, against the committed one.

    That file is written where there is none yet or where a person accepts the new one. In
    committed mode it is the keep set, so there is nothing to settle.
    """
    if context.committed or context.quick:
        return
    text = folder.file(KEEP_SET_FILE).read_text(encoding="utf-8")
    now = parse_keep_set(text, source=KEEP_SET_FILE)
    path = context.path(context.loaded.config.keep_set)
    if not path.exists() or context.accept:
        told = _counts(now, _replaced(path))
        write_atomically(path, text)
        context.console.say(f"  wrote {path}: {told}: commit it, it says what is kept and for whom")
        return
    before = read_keep_set(path, shown=str(context.loaded.config.keep_set))
    lost = [
        *_losses((name, [str(each) for each in gone]) for name, gone in shrunken(before, now)),
        *_losses((name, list(map(brief, gone))) for name, gone in shrunken_functions(before, now)),
    ]
    if lost:
        # The verdict shows the first line.
        first, *others = lost
        raise TraceFailure(
            TraceProblem.SHRUNKEN,
            "\n".join([f"a trace shrank against the committed keep set: {first}", *others]),
            hint=f"if that is meant, accept it: megtrim {folder.stage} --accept",
        )
    if dump_keep_set(before) != text:
        refresh = f"`megtrim {folder.stage} --accept`"
        told = _counts(now, before)
        context.console.warn(f"{path} is not what was traced now: {told}; {refresh}")


def _replaced(path: Path) -> KeepSet | None:
    """Return the keep set that is written anew; None where there is none that can be read."""
    try:
        return read_keep_set(path)
    except InputError:
        return None


def _counts(now: KeepSet, before: KeepSet | None) -> str:
    """Say how many regions and functions are kept, and how many were where that changed."""
    numbers = {
        noun: (len(listed(now)), len(listed(before)) if before else 0)
        for noun, listed in (("region", KeepSet.regions), ("function", KeepSet.functions))
    }
    told = {noun: each for noun, each in numbers.items() if any(each)}
    said = ", ".join(f"{new} {noun}{'' if new == 1 else 's'}" for noun, (new, _) in told.items())
    changed = before is not None and any(new != old for new, old in told.values())
    were = ", ".join(str(old) for _, old in told.values())
    return f"{said} (were {were})" if changed else said


def _losses(lost: Iterable[tuple[str, Sequence[str]]]) -> Iterator[str]:
    for scenario_id, names in lost:
        shown = ", ".join(names[:_LISTED])
        more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
        yield f"{scenario_id} no longer runs {shown}{more}"
