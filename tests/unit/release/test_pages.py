from __future__ import annotations

from dataclasses import replace

import pytest

from megtrim.checks.statuses import CheckStatus, ScenarioStatus
from megtrim.regions.keepset_files import parse_keep_set
from megtrim.regions.region import Region
from megtrim.release.contents import ArtifactKind, ReleaseContents
from megtrim.release.documents import DescribedRelease, render_notes, render_readme
from unit.release.examples import MODELS, contents, keep_set
from unit.verdict.examples import MOBILENET, RESNET, passing

SAID = contents()
FIRST, *OTHERS = SAID.scenarios
LINES = "android { buildFeatures { prefab = true } }"
DEEPER = replace(SAID, trim=replace(SAID.trim, level="function"))
UNVERIFIED = replace(FIRST, status=ScenarioStatus.UNVERIFIED, on_devices=CheckStatus.PASS)
PROGRAMS = tuple(each for each in SAID.artifacts if each.kind is ArtifactKind.PROGRAM)


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (SAID, f"| `{RESNET}` | `{'1' * 64}` | `--cpu --iter 1` | pass | qemu-arm64 |"),
        (SAID, "| `bin/load_and_run` | program | 12 B | 37.5 MiB |"),
        (SAID, "MegEngineTrimmed::shared"),
        (SAID, "`licences`"),
        (SAID, "Kernels that none of these runs are compiled out"),
        (DEEPER, "Functions that none of these ran are left out"),
        (replace(SAID, scenarios=(UNVERIFIED,)), "| unverified; on devices: pass |"),
        (replace(SAID, scenarios=(replace(FIRST, arguments=("--a|b",)),)), "a&#124;b"),
        (replace(SAID, artifacts=PROGRAMS), "There is no library in it"),
    ],
)
def test_a_readme_says_what_it_can_run_and_what_not(said: ReleaseContents, line: str) -> None:
    assert line in render_readme(said, has_licences=True)


def test_a_readme_says_how_it_is_used() -> None:
    assert LINES in render_readme(SAID, has_licences=True, has_aar=True)
    assert LINES not in render_readme(SAID, has_licences=True)
    without = render_readme(SAID, has_licences=False)
    assert "The engine's checkout has no file with a licence." in without


KEEP = parse_keep_set(keep_set(passing(), models=MODELS), source="k")
NOW = DescribedRelease(tag="v2", contents=SAID, keep=KEEP)
BEFORE = replace(NOW, tag="v1")
LARGER = tuple(replace(each, size_bytes=each.size_bytes + 1024) for each in SAID.artifacts)
CHANGED = tuple(
    replace(each, model_sha256="9" * 64) if each.model == "resnet18-s" else each
    for each in SAID.scenarios
)
FEWER = replace(SAID, scenarios=tuple(each for each in SAID.scenarios if each.id != MOBILENET))
MANY = replace(
    KEEP,
    scenarios=(
        replace(KEEP.scenarios[0], regions=tuple(Region("kern", (n,)) for n in range(30))),
        *KEEP.scenarios[1:],
    ),
)


@pytest.mark.parametrize(
    ("now", "before", "lines"),
    [
        (
            NOW,
            None,
            [
                "| `bin/load_and_run` | 12 B | new | 37.5 MiB |",
                f"- `{RESNET}`: `--cpu --iter 1`\n",
                f"megtrim release verify app-v2.tar.gz --sha256 {'a' * 64}",
            ],
        ),
        (
            NOW,
            BEFORE,
            [
                "| `bin/load_and_run` | 12 B | the same | 37.5 MiB |",
                "## Keep set since v1\n\nIt is the same.",
            ],
        ),
        (
            NOW,
            replace(BEFORE, contents=replace(SAID, artifacts=LARGER)),
            ["in v1", "| `bin/load_and_run` | 12 B | 1.0 KiB, -1 KiB |"],
        ),
        (
            NOW,
            replace(BEFORE, contents=replace(SAID, scenarios=CHANGED)),
            [f"- `{RESNET}`: `--cpu --iter 1`, with a model that changed"],
        ),
        (replace(NOW, contents=FEWER), BEFORE, [f"- no longer: `{MOBILENET}`"]),
        (
            NOW,
            replace(BEFORE, contents=FEWER),
            [f"- `{MOBILENET}`: `--cpu --iter 1`, a new model"],
        ),
        (NOW, replace(BEFORE, keep=MANY), ["left out now: ", "and 9 more"]),
    ],
)
def test_notes_hold_a_release_against_the_last_one(
    now: DescribedRelease, before: DescribedRelease | None, lines: list[str]
) -> None:
    page = render_notes(now, before, archive="app-v2.tar.gz", sha256="a" * 64)

    assert [line for line in lines if line not in page] == []
    assert ("Keep set since" in page) is (before is not None)
    assert "kept now" not in page
