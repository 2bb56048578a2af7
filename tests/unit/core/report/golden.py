"""What pull requests meet: a verdict for each, whose comment is kept in tests/data/comments.

`nox -s goldens` writes them anew, and carries each word that changed to tests/data/comments-act,
the comments of real runs; the changes are then looked at like any other.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from megtrim.core.checks.check import Check, DeviceIdentity
from megtrim.core.checks.statuses import CheckKind, CheckStatus
from megtrim.core.parts import hand_in
from megtrim.core.report.comment import Links, render
from megtrim.core.size.byte_table import LabelChange
from megtrim.core.size.growth.causes import Cause, InputChanges, describe_causes
from megtrim.core.size.rows import ArtifactSizes
from megtrim.core.trim.results import RegionsUse
from megtrim.core.verdict.join import VerdictInputs, join
from megtrim.core.verdict.model import Verdict
from megtrim.parts import PARTS
from support.carried_words import WordChange, carry, find_changes
from unit.core.verdict.examples import (
    HOSTILE,
    MOBILENET,
    REDUCED_BYTES,
    RESNET,
    TUNED,
    budget,
    build_check,
    crashed,
    facts,
    growth,
    hostile,
    regions,
    scenario,
    sizes,
    trapped,
)
from unit.core.verdict.performance_examples import hostile_performance, performance

FOLDER = Path(__file__).parents[3] / "data" / "comments"
OF_REAL_RUNS = FOLDER.with_name("comments-act")

LINKS = Links(
    run="https://github.com/example/camera-app/actions/runs/1234567890", artifact="megtrim-report"
)
BASELINE = "main at 2981d114c5d7, the merge base, stored 2 days ago"
PROVEN = "pixel-6 proved this program 3 days ago, so no device was used"
PENDING = (
    "device verification pending: no runner with the labels self-hosted, megtrim, "
    "armv82-dotprod took the job within the time that was given; last proof 3 days old"
)


def artifact(
    growth_bytes: int | None, *, reduced_bytes: int = REDUCED_BYTES, name: str = "load_and_run"
) -> ArtifactSizes:
    """Return plain and reduced, as a build from the committed keep set makes them."""
    plain, _, reduced = sizes(reduced_bytes).sizes
    plain_growth = None if growth_bytes is None else 0
    measured = (
        replace(plain, growth_bytes=plain_growth),
        replace(reduced, growth_bytes=growth_bytes),
    )
    return ArtifactSizes(name=name, sizes=measured)


def pull_request(growth_bytes: int | None = 1_024, **changes: object) -> VerdictInputs:
    """Return the facts of a pull request whose keep set is committed: nothing was traced."""
    tags = tuple(replace(use, held=0) for use in regions().by_tag if use.kept)
    return replace(
        facts(
            artifacts=(artifact(growth_bytes),),
            regions=RegionsUse(held=0, kept=149, by_tag=tags),
            scenarios=(scenario(RESNET), scenario(MOBILENET, regions=132), scenario(TUNED)),
            budgets=(budget(), growth(used=growth_bytes, baseline=BASELINE)),
            checks=(build_check("plain", 1620.5), build_check("reduced", 1080.0)),
            baseline=BASELINE,
        ),
        **changes,  # type: ignore[arg-type]
    )


def on_device(status: CheckStatus, text: str, scenario_id: str = TUNED) -> Check:
    return Check(
        id=f"device:{scenario_id}",
        kind=CheckKind.DEVICE,
        subject=scenario_id,
        status=status,
        text=text,
        file="megtrim.yaml",
        line=22,
    )


def _first() -> Verdict:
    baseline = "none: main has no stored sizes, and the merge base has no megtrim.yaml"
    row = growth(used=None, baseline="", status=CheckStatus.SKIPPED)
    return join(pull_request(None, baseline=baseline, budgets=(budget(), row)))


def _growth() -> Verdict:
    row = growth(used=60_416, baseline=BASELINE, status=CheckStatus.FAIL)
    plain, reduced = artifact(60_416).sizes
    symbols = tuple(
        LabelChange(component=component, label=label, before=before, after=after)
        for component, label, before, after in (
            ("kernels/arm_common/conv_bias", "megdnn::arm_common::kern_direct<…>(…)", 0, 49_152),
            ("operators", "mgb::opr::Resize::make(…)", 0, 9_216),
            ("unwind tables", "[unwind tables]", 210_944, 212_992),
            ("operators", "mgb::opr::Copy::make(…)", 512, 0),
            ("runtime", "mgb::cg::Graph::compile(…)", 9_216, 9_728),
        )
    )
    components = tuple(
        LabelChange(component="", label=component, before=before, after=after)
        for component, before, after in (
            ("kernels/arm_common/conv_bias", 20_480, 69_632),
            ("operators", 160_768, 169_472),
            ("unwind tables", 210_944, 212_992),
            ("runtime", 99_840, 100_352),
        )
    )
    grown = replace(reduced, components=components, symbols=symbols)
    artifacts = (ArtifactSizes(name="load_and_run", sizes=(plain, grown)),)
    changes = InputChanges(
        causes=(Cause.SOURCE, Cause.MODELS),
        files=("src/core/impl/graph/cg_impl.cpp",),
        came={"region megdnn_arm_common_conv_direct<3, 2>": ("resnet18/int8@big",)},
        new_scenarios=("resnet18/int8@big",),
    )
    facts = pull_request(
        60_416,
        budgets=(budget(), row),
        artifacts=artifacts,
        causes=changes.causes,
        notes=describe_causes(changes),
    )
    return join(facts)


def _trap() -> Verdict:
    return join(pull_request(0, scenarios=(scenario(RESNET), scenario(MOBILENET), trapped())))


def _crash() -> Verdict:
    hot = replace(
        scenario(MOBILENET), device="pixel-6", conditions=crashed().conditions, regions=132
    )
    return join(pull_request(0, scenarios=(scenario(RESNET), hot, crashed())))


def _on_devices(*checks: Check) -> Verdict:
    return join(pull_request(checks=(*pull_request().checks, *checks)))


def _hostile() -> Verdict:
    pixel = DeviceIdentity(name=HOSTILE, kind="android", facts={"abi": HOSTILE})
    checks = (
        on_device(CheckStatus.UNVERIFIED, HOSTILE, HOSTILE),
        on_device(CheckStatus.INFRASTRUCTURE, HOSTILE, f"other {HOSTILE}"),
    )
    bad = hostile()
    found = tuple(sorted((*bad.checks, *checks), key=lambda check: check.id))
    return replace(bad, baseline=f"{HOSTILE}, {HOSTILE}", checks=found, devices=(pixel,))


COMMENTS: Mapping[str, Verdict] = {
    "first-pull-request": _first(),
    "within-budget": join(pull_request()),
    "growth-over-budget": _growth(),
    "trap": _trap(),
    "crash-on-a-hot-phone": _crash(),
    "unverified-device": _on_devices(
        on_device(CheckStatus.PASS, "pixel-6: outputs equal to the last bit", RESNET),
        on_device(CheckStatus.UNVERIFIED, PENDING),
    ),
    "proven-earlier": _on_devices(
        *(on_device(CheckStatus.PASS, PROVEN, id_) for id_ in (RESNET, MOBILENET, TUNED))
    ),
    "times": join(pull_request(performance=performance())),
    "hostile-names": _hostile(),
    "hostile-times": join(pull_request(performance=hostile_performance())),
}


def write_comments() -> None:
    """Write the comments anew, and carry words that changed to those of real runs."""
    changes: list[WordChange] = []
    for name, verdict in COMMENTS.items():
        file = FOLDER / f"{name}.md"
        old = file.read_text(encoding="utf-8") if file.exists() else ""
        new = render(verdict, links=LINKS)
        changes += find_changes(old, new) if old else ()
        file.write_text(new, encoding="utf-8")
    for file in sorted(OF_REAL_RUNS.glob("*.md")):
        file.write_text(carry(changes, file.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    hand_in(PARTS)
    write_comments()
