"""What people read of a release: its README, and the notes that it is published with. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from megtrim.config.units import format_bytes
from megtrim.regions.keepset import KeepSet
from megtrim.release.contents import (
    AAR_PATH,
    LICENCES,
    PACKAGE,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ReleaseScenario,
)
from megtrim.render.markup import code, prose, table
from megtrim.util.value import Value
from megtrim.util.wording import count

_LIMITS = {
    "region": "Kernels that none of these runs are compiled out",
    "function": "Functions that none of these ran are left out",
}


def render_readme(contents: ReleaseContents, *, has_licences: bool, has_aar: bool = False) -> str:
    return "\n".join(
        (
            *_introduce(contents),
            *_show_artifacts(contents),
            *_show_scenarios(contents),
            *_show_use(contents, has_aar=has_aar),
            *_show_licences(has_licences=has_licences),
        )
    )


def _introduce(contents: ReleaseContents) -> Iterator[str]:
    engine, toolchain = contents.engine, contents.toolchain
    where = engine.commit or f"digest {engine.digest}"
    yield "# The trimmed engine\n"
    yield f"- engine: {prose(engine.kind)}, {where}"
    if engine.dirty:
        yield f"- its tree differs from that commit in {count(len(engine.dirty), 'file')}"
    yield f"- target: {prose(toolchain.target)}, compiled by {_name_compiler(contents)}"
    yield f"- level: {prose(contents.trim.level)}"
    yield f"- verdict: {contents.verdict}\n"


def _show_artifacts(contents: ReleaseContents) -> Iterator[str]:
    yield "## What is in it\n"
    yield "| file | kind | size | before trimming |"
    yield "|---|---|---|---|"
    yield from (_describe_artifact(each) for each in contents.artifacts)
    yield ""


def _describe_artifact(artifact: ReleaseArtifact) -> str:
    size, plain = format_bytes(artifact.size_bytes), artifact.plain_bytes
    before = "not measured" if plain is None else format_bytes(plain)
    return f"| {code(artifact.path)} | {artifact.kind} | {size} | {before} |"


def _show_scenarios(contents: ReleaseContents) -> Iterator[str]:
    yield "## What it can run\n"
    yield "| scenario | model's sha256 | arguments | result | on |"
    yield "|---|---|---|---|---|"
    yield from (_describe_scenario(each) for each in contents.scenarios)
    yield "\n## What it cannot run\n"
    limit = _LIMITS.get(contents.trim.level, _LIMITS["region"])
    yield (
        f"Anything else. {limit}: another model, other arguments, other input sizes, or a CPU of "
        "another class may end the program by a trap, without a message. Add what you need to "
        "megtrim.yaml, and trim again.\n"
    )


def _describe_scenario(scenario: ReleaseScenario) -> str:
    result = str(scenario.status)
    if scenario.on_devices is not None:
        result = f"{result}; on devices: {scenario.on_devices}"
    cells = (scenario.id, scenario.model_sha256, " ".join(scenario.arguments))
    return f"| {' | '.join(map(code, cells))} | {result} | {prose(scenario.device)} |"


def _name_compiler(contents: ReleaseContents) -> str:
    toolchain = contents.toolchain
    return prose(f"{toolchain.kind} {toolchain.version}")


def _show_use(contents: ReleaseContents, *, has_aar: bool) -> Iterator[str]:
    yield "## Use it\n"
    if any(each.kind is ArtifactKind.SHARED for each in contents.artifacts):
        yield "```cmake"
        yield f"find_package({PACKAGE} REQUIRED PATHS this/folder NO_DEFAULT_PATH)"
        yield f"target_link_libraries(your-program PRIVATE {PACKAGE}::shared)"
        yield "```"
    else:
        yield "There is no library in it: name the shared one under `artifacts` of megtrim.yaml."
    if has_aar:
        yield f"\nIn an Android app, with `{AAR_PATH}` in its folder `libs`, the same two lines of"
        yield "CMake without `PATHS`, and:\n"
        yield "```kotlin"
        yield "android { buildFeatures { prefab = true } }"
        yield f'dependencies {{ implementation(files("libs/{PACKAGE}.aar")) }}'
        yield "```"
    yield ""


def _show_licences(*, has_licences: bool) -> Iterator[str]:
    yield "## Licences\n"
    if has_licences:
        yield f"Those of the engine and of what it is made from are in `{LICENCES}`."
    else:
        yield "The engine's checkout has no file with a licence."
    yield ""


_MOST_SHOWN = 20


class DescribedRelease(Value):
    tag: str
    contents: ReleaseContents
    keep: KeepSet


def render_notes(
    now: DescribedRelease, before: DescribedRelease | None, *, archive: str, sha256: str
) -> str:
    """``before``: the last release, ``sha256``: of this one's SHA256SUMS."""
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
    yield f"- {prose(engine.kind)}: {code(engine.commit or f'digest {engine.digest}')}"
    yield f"- {_name_compiler(contents)} for {prose(toolchain.target)}"
    yield f"- trimmed by {prose(contents.trim.level)}s\n"
