"""Verdicts for tests: a pass, a failure, an unverified one, a big one and a hostile one.

Each is joined from facts, as the chain does it; the numbers are of the size that a real engine has.
"""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Literal, cast

from megtrim.core.build_spec import EngineIdentity, Origin
from megtrim.core.checks.check import Check, DeviceIdentity, ToolchainIdentity
from megtrim.core.checks.invocation import Invocation
from megtrim.core.checks.statuses import CheckKind, CheckStatus, ScenarioStatus
from megtrim.core.config.performance import WorkConfig
from megtrim.core.config.problems import Place
from megtrim.core.proof.neighbours import NeighbourLevel, NeighbourOutcome, NeighbourResult
from megtrim.core.proof.results import ScenarioResult
from megtrim.core.size.byte_table import ByteMap, LabelChange, MappedComponent, MappedSymbol
from megtrim.core.size.counted import Use, Work
from megtrim.core.size.growth.arrivals import Arrivals, NewPart, NewUse
from megtrim.core.size.growth.causes import Cause, CauseNote
from megtrim.core.size.prices import Price, PriceList
from megtrim.core.size.rows import ArtifactSizes, BudgetRow, VariantSize
from megtrim.core.size.use import list_rows
from megtrim.core.size.views import PriceKind
from megtrim.core.trim.results import (
    OperatorsUse,
    OperatorUse,
    RegionsUse,
    RegionUse,
    TagUse,
    TrimChoice,
)
from megtrim.core.verdict.join import VerdictInputs, join
from megtrim.core.verdict.model import Verdict
from megtrim.libs.programs.parity import OutputResult
from megtrim.libs.programs.telemetry import Conditions, Policy, Reading

RESNET = "resnet18-s/default@any"
TUNED = "resnet18-s/tuned@armv82-dotprod"
MOBILENET = "mobilenet-s/default@any"
PLAIN_BYTES = 39_300_016
REDUCED_BYTES = 2_641_920
HOSTILE = "@admin see #1 <script>alert(1)</script> | `x` ]]> \x00\x1b[31mred\x1b[0m \ud800 \uffff"


def sizes(reduced_bytes: int = REDUCED_BYTES) -> ArtifactSizes:
    def variant(name: str, size_bytes: int, shares: tuple[int, ...]) -> VariantSize:
        names = ("text", "rodata", "data", "relocations", "unwind")
        parts = [size_bytes * share // 1000 for share in shares]
        rest = size_bytes - sum(parts)
        sections = (*zip(names, parts, strict=True), ("other", rest))
        share = size_bytes / PLAIN_BYTES
        return VariantSize(variant=name, size_bytes=size_bytes, share=share, sections=sections)

    return ArtifactSizes(
        name="load_and_run",
        sizes=(
            variant("plain", PLAIN_BYTES, (702, 84, 41, 63, 98)),
            variant("profile", 41_204_312, (690, 101, 40, 67, 92)),
            variant("reduced", reduced_bytes, (588, 121, 72, 96, 109)),
        ),
    )


def tag(
    name: str, kept: int, held: int, *, meaning: str = "", scenarios: tuple[str, ...] = (RESNET,)
) -> TagUse:
    """Return a tag with ``kept`` regions ``name<0>``, ``name<1>`` ..."""
    regions = tuple(
        RegionUse(name=f"{name}<{number}>", meaning=meaning, scenarios=scenarios)
        for number in range(kept)
    )
    return TagUse(tag=name, kept=kept, held=held, regions=regions)


def regions() -> RegionsUse:
    """Return 149 of 900 regions under ten tags, one of them lost altogether."""
    both = (MOBILENET, RESNET)
    by_tag = (
        tag("megbrain_misc", 5, 9, scenarios=both),
        tag("megdnn_arm_exec_fp32", 1, 14),
        tag("megdnn_common_elemwise", 86, 118, scenarios=both),
        tag("megdnn_common_elemwise_mode", 2, 61, meaning="FUSE_ADD_RELU"),
        tag("megdnn_fallback_winograd", 0, 212),
        tag("megdnn_fb_gi_f32_4x12", 12, 40, meaning="AlgoF32Gi4x12::exec"),
        tag("megdnn_fp32_sgemv", 2, 2, meaning="AlgoF32Gemv::get_workspace", scenarios=both),
        tag("megdnn_gi_conv_f32", 6, 180, scenarios=(RESNET, TUNED)),
        tag("megdnn_naive_pooling", 24, 104),
        tag("midout_iv", 11, 160, scenarios=both),
    )
    kept = sum(use.kept for use in by_tag)
    held = sum(use.held for use in by_tag)
    assert (kept, held) == (149, 900)
    return RegionsUse(held=held, kept=kept, by_tag=by_tag)


def operators() -> OperatorsUse:
    both = ("mobilenet-s", "resnet18-s")

    def use(name: str, models: tuple[str, ...] = both) -> OperatorUse:
        return OperatorUse(name=name, models=models)

    names = ("ConvBiasForward", "Elemwise", "Host2DeviceCopy", "ImmutableTensor", "MatrixMul")
    return OperatorsUse(
        kept=(*(use(name) for name in names), use("PoolingForward", ("resnet18-s",))),
        dtypes=(use("Byte"), use("Float32"), use("Int32")),
        elemwise_modes=(use("ADD"), use("FUSE_ADD_RELU", ("resnet18-s",))),
    )


def scenario(scenario_id: str, **changes: object) -> ScenarioResult:
    path, cpu_class = scenario_id.split("@")
    model, name = path.split("/")
    passed = ScenarioResult(
        id=scenario_id,
        model=model,
        scenario=name,
        cpu_class=cpu_class,
        arguments=("--cpu", "--iter", "1"),
        device="qemu-arm64",
        status=ScenarioStatus.PASS,
        regions=149,
        time_s=1.25,
        text="outputs equal to the last bit (1 tensor, 40 bytes)",
        outputs=(
            OutputResult(name="run0-var178", size_bytes=40, equal=True, largest_difference=0.0),
        ),
        log_tail="load model: 2.841ms\n=== going to run for 1 times\niter 0/1: 10.2ms\n",
        reproduce=Invocation(committed=True).verify(scenario_id),
    )
    return replace(passed, **changes)  # type: ignore[arg-type]


def budget(**changes: object) -> BudgetRow:
    """Return a largest size of 2.75 MiB that is kept, with ``changes``."""
    kept = BudgetRow(
        kind=CheckKind.SIZE,
        artifact="load_and_run",
        variant="reduced",
        used=REDUCED_BYTES,
        limit=2_883_584,
        status=CheckStatus.PASS,
    )
    return replace(kept, **changes)  # type: ignore[arg-type]


def growth(**changes: object) -> BudgetRow:
    """Return a largest growth of 16 KiB that is kept, with ``changes``."""
    kept = {"used": 1_024, "limit": 16_384, "baseline": "main at 2981d11"}
    return budget(kind=CheckKind.GROWTH, **(kept | changes))


def build_check(variant: str, time_s: float) -> Check:
    return Check(
        id=f"build:{variant}",
        kind=CheckKind.BUILD,
        subject=variant,
        status=CheckStatus.PASS,
        text=f"{variant} was built",
        time_s=time_s,
        file="megtrim.yaml",
        line=3,
    )


ORIGIN = Origin(
    project="camera-app",
    config="megtrim.yaml",
    commit="5d0c2b7e9f1a4836" * 2 + "a1b2c3d4",
    committed_at="2027-01-30T09:41:07Z",
    pull_request=17,
    megtrim="1.0.0",
)


def facts(**changes: object) -> VerdictInputs:
    good = VerdictInputs(
        origin=ORIGIN,
        config="megtrim.yaml",
        invocation=Invocation(committed=True),
        places={
            RESNET: Place(file="megtrim.yaml", line=21),
            TUNED: Place(file="megtrim.yaml", line=22),
            MOBILENET: Place(file="megtrim.yaml", line=27),
            "load_and_run/reduced": Place(file="megtrim.yaml", line=34),
        },
        engine=EngineIdentity(
            kind="megengine",
            generation=20220507,
            digest="9f4c0d8e1b7a6532" * 4,
            commit="c2f1e0b6a3d94857",
            dirty=(),
        ),
        toolchain=ToolchainIdentity(
            kind="clang-linux-arm64", target="aarch64-linux-gnu", version="clang 14.0.6"
        ),
        devices=(
            DeviceIdentity(
                name="qemu-arm64", kind="qemu", facts={"cpu": "max", "version": "7.2.22"}
            ),
        ),
        trim=TrimChoice(level="region", layout="scoped", minimum_size=True, optimize="none"),
        artifacts=(sizes(),),
        regions=regions(),
        operators=operators(),
        scenarios=(
            scenario(RESNET),
            scenario(MOBILENET, regions=132, time_s=0.75),
            scenario(TUNED, arguments=("--cpu", "--fast-run"), time_s=2.5),
        ),
        budgets=(budget(), growth()),
        checks=(
            build_check("plain", 1620.5),
            build_check("profile", 1560.0),
            build_check("reduced", 1080.0),
        ),
    )
    return replace(good, **changes)  # type: ignore[arg-type]


def passing() -> Verdict:
    return join(facts())


def compared() -> Verdict:
    growth = {"plain": 0, "profile": None, "reduced": -2_048}
    artifact = sizes()
    grown = tuple(replace(each, growth_bytes=growth[each.variant]) for each in artifact.sizes)
    return join(facts(artifacts=(replace(artifact, sizes=grown),), baseline="main at 2981d11"))


def neighbour(name: str, *outcomes: NeighbourOutcome, scenario: str = RESNET) -> NeighbourResult:
    """Return a neighbour that ended so by region and by function."""
    levels = tuple(
        NeighbourLevel(
            level=level,
            outcome=outcome,
            works=outcome is NeighbourOutcome.SAME,
            text=f"it {outcome}",
            needs=("kern<7>",) if outcome is NeighbourOutcome.TRAPPED else (),
            time_s=0.25,
        )
        for level, outcome in zip(("region", "function"), outcomes, strict=False)
    )
    return NeighbourResult(
        scenario=scenario,
        name=name,
        kind="flags",
        what=f"--{name}",
        text="it runs: 1 output",
        levels=levels,
    )


NEIGHBOURS = (
    neighbour("iter-1", NeighbourOutcome.SAME, NeighbourOutcome.SAME),
    neighbour("iter-3", NeighbourOutcome.SAME, NeighbourOutcome.SAME),
    neighbour("enable-nchw44", NeighbourOutcome.TRAPPED, NeighbourOutcome.TRAPPED),
    neighbour("other-dump", NeighbourOutcome.SAME, NeighbourOutcome.TRAPPED),
    neighbour("batch-2"),
)


def near() -> Verdict:
    return join(facts(neighbours=NEIGHBOURS))


def by_committed() -> Verdict:
    """Return a verdict on a committed keep set: no one counted what a profile build holds."""
    by_tag = tuple(replace(use, held=0) for use in regions().by_tag if use.kept)
    kept = RegionsUse(held=0, kept=149, by_tag=by_tag)
    artifact = sizes()
    measured = tuple(each for each in artifact.sizes if each.variant != "profile")
    return join(facts(artifacts=(replace(artifact, sizes=measured),), regions=kept))


def trapped() -> ScenarioResult:
    return scenario(
        TUNED,
        arguments=("--cpu", "--enable-nchw44"),
        status=ScenarioStatus.TRAP,
        text="trapped: 2 regions that it needs were not kept",
        outputs=(),
        missing_regions=(
            "megdnn_fallback_winograd<-1290123641, 0>",
            "megdnn_gi_conv_f32<7, megdnn::ConvBiasForward>",
        ),
        log_tail="Trace/breakpoint trap\n",
    )


def crashed() -> ScenarioResult:
    """Return a scenario that a signal ended on a phone that was too hot."""
    capped = Policy(
        name="policy4",
        governor="schedutil",
        current_khz=1_200_000,
        allowed_khz=1_800_000,
        capable_khz=2_400_000,
    )
    return scenario(
        TUNED,
        device="pixel-6",
        status=ScenarioStatus.ENGINE_ERROR,
        text="it crashed (exit status 139), and the profile build fails too: "
        "it crashed (exit status 139)",
        outputs=(),
        log_tail="load model: 2.841ms\n",
        conditions=Conditions(
            before=Reading(cpu_c=41.5, battery_percent=87, charging=True),
            after=Reading(cpu_c=68.25, battery_percent=86, charging=True, policies=(capped,)),
        ),
        crash="ended by signal 11 (SIGSEGV)\ncrash log:\n  backtrace:\n    #00 pc 1000 <b>`x`\n",
    )


def failing() -> Verdict:
    broken = (
        budget(used=2_998_272, status=CheckStatus.FAIL),
        growth(used=356_352, status=CheckStatus.FAIL),
    )
    parity = scenario(
        MOBILENET,
        status=ScenarioStatus.PARITY,
        text="1 of 1 outputs differs: run0-var178 by up to 0.0125",
        outputs=(
            OutputResult(name="run0-var178", size_bytes=40, equal=False, largest_difference=0.0125),
        ),
    )
    return join(
        facts(
            artifacts=(sizes(2_998_272),),
            scenarios=(scenario(RESNET), trapped(), parity),
            budgets=broken,
            warnings=("the engine's checkout has changes that are not committed: 2 files",),
        )
    )


def unverified(*, expired: bool = False) -> Verdict:
    """Return a verdict where one phone slept and one device failed; perhaps for too long."""
    asleep = scenario(
        TUNED,
        status=ScenarioStatus.UNVERIFIED,
        device="pixel-6",
        text=f"unverified, last proof {20 if expired else 3} days old",
        outputs=(),
        log_tail="",
    )
    lost = scenario(
        MOBILENET,
        status=ScenarioStatus.INFRASTRUCTURE,
        text="qemu-aarch64 did not start: no space left on device",
        outputs=(),
        log_tail="",
    )
    ids = frozenset({TUNED}) if expired else frozenset[str]()
    return join(facts(scenarios=(scenario(RESNET), asleep, lost), expired=ids))


def big(count: int = 2000) -> Verdict:
    """Return a verdict that keeps ``count`` regions under fifty tags, each for three scenarios."""
    wanted = (MOBILENET, RESNET, TUNED)
    meaning = "AlgoF32Gi4x12::get_preprocess_workspace"
    by_tag = tuple(
        tag(
            f"megdnn_fallback_kernel_{number:02}",
            count // 50,
            count // 50 + number,
            meaning=meaning,
            scenarios=wanted,
        )
        for number in range(50)
    )
    held = sum(use.held for use in by_tag)
    return join(facts(regions=RegionsUse(held=held, kept=count, by_tag=by_tag)))


def _grown_by_the_hostile() -> VariantSize:
    change = LabelChange(component=HOSTILE, label=HOSTILE, before=0, after=9)
    return replace(sizes().sizes[-1], growth_bytes=9, components=(change,), symbols=(change,))


def _map_of_the_hostile() -> ByteMap:
    bad = MappedSymbol(label=HOSTILE, plain_bytes=PLAIN_BYTES, kept_bytes=REDUCED_BYTES // 2)
    component = MappedComponent(
        name=HOSTILE, plain_bytes=PLAIN_BYTES, kept_bytes=REDUCED_BYTES, symbols=(bad,)
    )
    return ByteMap(artifact=HOSTILE, variant="reduced", components=(component,))


def byte_map(artifact: str = "load_and_run") -> ByteMap:
    shares = (
        ("kernels/arm_common/conv_bias", 180, 300, "megdnn::arm_common::ConvBiasImpl::exec(…)"),
        ("runtime", 250, 60, "mgb::cg::ComputingGraphImpl::compile(…)"),
        ("relocations", 120, 20, "[relocations]"),
        (
            "kernels/naive/elemwise_multi_type",
            0,
            400,
            "megdnn::naive::ElemwiseMultiType<…>::exec(…)",
        ),
    )
    components = [
        MappedComponent(
            name=name,
            plain_bytes=PLAIN_BYTES * plain // 1000,
            kept_bytes=REDUCED_BYTES * kept // 1000,
            symbols=(
                MappedSymbol(
                    label=label,
                    plain_bytes=PLAIN_BYTES * plain // 2000,
                    kept_bytes=REDUCED_BYTES * kept // 2000,
                ),
            ),
        )
        for name, kept, plain, label in shares
    ]
    components.append(
        MappedComponent(
            name="[31 others]",
            plain_bytes=PLAIN_BYTES - sum(each.plain_bytes or 0 for each in components),
            kept_bytes=REDUCED_BYTES - sum(each.kept_bytes for each in components),
        )
    )
    return ByteMap(artifact=artifact, variant="reduced", components=tuple(components))


def mapped() -> Verdict:
    """Return a verdict that says where the bytes are, what they cost, and how they changed."""
    prices = PriceList(
        artifact="load_and_run",
        size_bytes=REDUCED_BYTES,
        prices=(
            Price(
                kind=PriceKind.MODEL, name="resnet18-s", margin_bytes=65_319, alone_bytes=2_600_000
            ),
            Price(
                kind=PriceKind.MODEL, name="mobilenet-s", margin_bytes=26_330, alone_bytes=2_500_000
            ),
            Price(
                kind=PriceKind.FUNCTION,
                name="mgb::opr::Add::run(…)",
                margin_bytes=4_000,
                own_bytes=1_000,
            ),
        ),
    )
    artifact = replace(sizes(), byte_map=byte_map(), prices=prices)
    budgets = (
        budget(soft_limit=2_600_000),
        growth(),
        budget(measure="section .text", limit=9_999_999),
    )
    return join(facts(artifacts=(artifact,), budgets=budgets))


def hostile() -> Verdict:
    """Return a failure whose every free text tries to break out of the report."""
    bad = ScenarioResult(
        id=f"m/{HOSTILE}@any",
        model=HOSTILE,
        scenario=HOSTILE,
        cpu_class=HOSTILE,
        arguments=(HOSTILE, "--x=```"),
        device=HOSTILE,
        status=ScenarioStatus.TRAP,
        regions=1,
        time_s=0.0,
        text=HOSTILE,
        missing_regions=(HOSTILE,),
        log_tail=f"```\n</pre></details>{HOSTILE}\n" * 3,
        reproduce=f"megtrim verify '{HOSTILE}'",
    )
    return join(
        facts(
            origin=replace(ORIGIN, project=HOSTILE, config=HOSTILE, megtrim=HOSTILE),
            devices=(DeviceIdentity(name=HOSTILE, kind=HOSTILE, facts={HOSTILE: HOSTILE}),),
            scenarios=(bad,),
            regions=RegionsUse(held=2, kept=1, by_tag=(tag(HOSTILE, 1, 2, meaning=HOSTILE),)),
            operators=OperatorsUse(
                kept=(OperatorUse(name=HOSTILE, models=(HOSTILE,)),), dtypes=(), elemwise_modes=()
            ),
            artifacts=(
                replace(
                    sizes(),
                    name=HOSTILE,
                    sizes=(*sizes().sizes[:2], _grown_by_the_hostile()),
                    byte_map=_map_of_the_hostile(),
                ),
            ),
            budgets=(budget(artifact=HOSTILE, waiver=HOSTILE), _work_of_the_hostile(bad.id)),
            warnings=(HOSTILE,),
        )
    )


def use_rows(
    now: Use, before: Use | None, *, scenario: str = "m/s@any", **limits: object
) -> list[BudgetRow]:
    config = cast("Any", SimpleNamespace(**{"work": None, "memory": None, **limits}))
    return [*list_rows({scenario: now}, {scenario: before or Use()}, config, "main")]


def work_row(
    now: Work | str,
    before: Work | None = None,
    most: float | None = 0.01,
    *,
    inconclusive: Literal["fail", "warn"] = "warn",
    **of: str,
) -> BudgetRow:
    """``now``: why it was not counted, where it was not."""
    use = Use(reasons={"work": now}) if isinstance(now, str) else Use(work={"reduced": now})
    known = Use(work={"reduced": before} if before else {})
    limits = WorkConfig.model_construct(growth=most, inconclusive=inconclusive)
    return use_rows(use, known, work=limits, **of)[-1]


def _work_of_the_hostile(scenario: str) -> BudgetRow:
    before = Work(key="0" * 64, functions={HOSTILE: (1, 1)}, varying={HOSTILE * 2: (0, 0)}, ran=100)
    return work_row(replace(before, functions={HOSTILE: (9, 1)}), before, scenario=scenario)


def grown() -> Verdict:
    """Return a verdict of a file that grew by 59 KiB, for a new model among other things."""
    [base] = mapped().artifacts
    *others, reduced = base.sizes
    change = LabelChange(component="runtime", label="mgb::run(…)", before=0, after=60_416)
    part = NewPart(kind="operator", name="Resize", models=("tiny-quant",))
    use = NewUse(kind=PriceKind.MODEL, name="tiny-quant")
    reduced = replace(
        reduced,
        growth_bytes=60_416,
        components=(replace(change, component="", label="runtime"),),
        symbols=(change,),
        arrivals=Arrivals(uses=(use,), parts=(part,)),
    )
    note = CauseNote(cause=Cause.SOURCE, seen="src/a.cpp differs", advice="look at it")
    return join(
        facts(
            artifacts=(replace(base, sizes=(*others, reduced)),),
            baseline="main at 2981d11",
            causes=(Cause.SOURCE, Cause.MODELS),
            notes=(note, replace(note, cause=Cause.MODELS, seen="tiny-quant is new")),
        )
    )
