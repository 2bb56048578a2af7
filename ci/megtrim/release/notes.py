"""The notes of a release: what is in it, and what changed since the last one. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from megtrim.config.units import format_bytes
from megtrim.midout.keepset import KeepSet
from megtrim.release.contents import ReleaseContents
from megtrim.report.markup import code, table

_MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribedRelease:
    """A release as its documents say, and the tag that it has."""

    tag: str
    contents: ReleaseContents
    keep: KeepSet


def render_notes(
    now: DescribedRelease, before: DescribedRelease | None, *, archive: str, sha256: str
) -> str:
    """Return the notes; ``before``: the last release, ``sha256``: of this one's SHA256SUMS."""
    return "\n".join(
        (
            *_show_sizes(now, before),
            *_show_models(now.contents, before.contents if before else None),
            *_show_keep_set(now, before),
            *_show_origin(now.contents),
            "## Verify it\n",
            "```sh",
            f"megtrim release verify {archive} --sha256 {sha256}",
            "```",
            "",
        )
    )


def _show_sizes(now: DescribedRelease, before: DescribedRelease | None) -> Iterator[str]:
    old = {each.path: each.size_bytes for each in before.contents.artifacts} if before else {}
    head = ["file", "size", f"in {before.tag}" if before else "last release", "before trimming"]
    rows = [
        (
            *(code(each.path), format_bytes(each.size_bytes)),
            _compare(each.size_bytes, old, each.path),
            "" if each.plain_bytes is None else format_bytes(each.plain_bytes),
        )
        for each in now.contents.artifacts
    ]
    yield f"## Sizes\n\n{table(head, rows)}\n"


def _compare(size: int, old: Mapping[str, int], path: str) -> str:
    if path not in old:
        return "new"
    change = size - old[path]
    if not change:
        return "the same"
    return f"{format_bytes(old[path])}, {'+' if change > 0 else ''}{format_bytes(change)}"


def _show_models(now: ReleaseContents, before: ReleaseContents | None) -> Iterator[str]:
    old = before.models if before else {}
    yield "## What it can run\n"
    for each in now.scenarios:
        known = old.get(each.model)
        note = "" if known == each.model_sha256 or before is None else _say_changed(known)
        yield f"- {code(each.id)}: {code(' '.join(each.arguments))}{note}"
    lost = sorted({each.id for each in before.scenarios} - now.bindings.keys()) if before else []
    yield from (f"- no longer: {id_}" for id_ in _shorten(lost))
    yield ""


def _say_changed(known: str | None) -> str:
    return ", a new model" if known is None else ", with a model that changed"


def _show_keep_set(now: DescribedRelease, before: DescribedRelease | None) -> Iterator[str]:
    """Say which regions and functions are kept that were not, and the other way round."""
    if before is None:
        return
    kept, was = _list_kept(now.keep), _list_kept(before.keep)
    yield f"## Keep set since {before.tag}\n"
    if kept == was:
        yield "It is the same.\n"
        return
    for title, names in (("kept now", kept - was), ("left out now", was - kept)):
        if names:
            yield f"{title}: {', '.join(_shorten(sorted(names)))}\n"


def _list_kept(keep: KeepSet) -> set[str]:
    return {*map(str, keep.regions()), *keep.functions()}


def _shorten(names: Iterable[str]) -> list[str]:
    listed = [code(each) for each in names]
    more = len(listed) - _MOST_SHOWN
    return listed if more <= 0 else [*listed[:_MOST_SHOWN], f"and {more} more"]


def _show_origin(contents: ReleaseContents) -> Iterator[str]:
    engine, toolchain = contents.engine, contents.toolchain
    yield "## What it is made from\n"
    yield f"- {engine.kind}: {code(engine.commit or f'digest {engine.digest}')}"
    yield f"- {toolchain.kind} {toolchain.version} for {toolchain.target}"
    yield f"- trimmed by {contents.trim.level}s\n"
