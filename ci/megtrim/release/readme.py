"""The README of a release: what it can run, what it cannot, and how to use it. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from megtrim.config.units import format_bytes
from megtrim.release.cmake_package import PACKAGE
from megtrim.release.contents import (
    LICENCES,
    ArtifactKind,
    ReleaseArtifact,
    ReleaseContents,
    ReleaseScenario,
)
from megtrim.release.prefab import AAR_PATH
from megtrim.wording import count

_LIMITS = {
    "region": "Kernels that none of these runs are compiled out",
    "function": "Functions that none of these ran are left out",
}


def render(contents: ReleaseContents, *, has_licences: bool, has_aar: bool = False) -> str:
    """Return the page; ``has_licences``: whether the engine's checkout has any."""
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
    yield f"- engine: {engine.kind}, {where}"
    if engine.dirty:
        yield f"- its tree differs from that commit in {count(len(engine.dirty), 'file')}"
    yield f"- target: {toolchain.target}, compiled by {toolchain.kind} {toolchain.version}"
    yield f"- level: {contents.trim.level}"
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
    return f"| `{artifact.path}` | {artifact.kind} | {size} | {before} |"


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
    arguments = " ".join(scenario.arguments)
    result = str(scenario.status)
    if scenario.on_devices is not None:
        result = f"{result}; on devices: {scenario.on_devices}"
    cells = (
        *(f"`{scenario.id}`", f"`{scenario.model_sha256}`", f"`{arguments}`"),
        *(result, scenario.device),
    )
    return f"| {' | '.join(each.replace('|', '/') for each in cells)} |"


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
