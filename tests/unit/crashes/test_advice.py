from __future__ import annotations

from dataclasses import replace

from megtrim.crashes.lookup import (
    CandidateKind,
    CrashCandidate,
    CrashCause,
    CrashFinding,
    keep_lines,
    nearest_scenario,
    scenario_lines,
)
from megtrim.regions.keepset import KeepSet, build_keep_set
from megtrim.regions.region import Region
from unit.regions.test_keepset import scenario

LINK = "6e" * 32


def keep() -> KeepSet:
    one = scenario("m/one@c", Region("kern", (1,)), Region("pool", (1,)))
    two = scenario("m/two@c", Region("kern", (1,)), Region("kern", (2,)))
    return build_keep_set(
        20220507,
        [
            replace(one, functions=("_Z5staysv", "main"), link_sha256=LINK),
            replace(two, functions=("main",), link_sha256=LINK),
        ],
        None,
    )


def finding(*candidates: CrashCandidate, stack: tuple[str, ...] = ()) -> CrashFinding:
    return CrashFinding(
        cause=CrashCause.CANDIDATES, text="t", program="app", candidates=candidates, stack=stack
    )


def nearest(found: CrashFinding) -> str:
    record = nearest_scenario(found, keep())
    return record.id if record else ""


def test_the_nearest_scenario() -> None:
    region = CrashCandidate(kind=CandidateKind.REGION, name="kern<3>")

    assert nearest(finding(stack=("_Z5staysv",))) == "m/one@c"
    assert nearest(finding(region)) == "m/two@c"
    assert nearest(finding()) == ""
    alone = replace(keep(), scenarios=keep().scenarios[1:])
    record = nearest_scenario(finding(), alone)
    assert record is not None
    assert record.id == "m/two@c"


def test_lines_that_keep_functions() -> None:
    region = CrashCandidate(kind=CandidateKind.REGION, name="kern<3>")
    name = "a::operator[](int*)"
    function = CrashCandidate(kind=CandidateKind.FUNCTION, name=name, linkage_name="_Zx")
    found = finding(function, region)

    assert keep_lines(found) == ("trim:", "  keep:", '    - "a::operator[[]](int[*])"')
    assert keep_lines(finding()) == ()


def test_lines_of_a_scenario() -> None:
    record = replace(keep().scenarios[0], arguments=("--cpu",), inputs=(("data", "0" * 64),))

    assert scenario_lines(record) == (
        "# a scenario of m, with the arguments and inputs that the field used",
        '- {name: field, args: ["--cpu"], inputs: {data: FILE}}',
    )
