from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build_spec import Variant
from megtrim.checks.statuses import ScenarioStatus
from megtrim.load_and_run.parity import EXACT, OutputResult, Tolerance
from megtrim.proof import verification
from megtrim.proof.results import VerificationOutcome
from megtrim.proof.verification import OutputComparison, VerificationCase, prove
from megtrim.trim.runs.execution import RunResult, RunSpec
from megtrim.util.errors import InfrastructureFailure
from unit.trim.stages.fake_device import GOOD as SAYS_GOOD
from unit.trim.stages.fake_device import PROFILE, TRAPS, FakeDevice
from unit.trim.stages.support import evidence, floats, keep_set

GOOD = floats(1.0, 2.0, 3.0)


def compared(
    plain: dict[str, bytes], reduced: dict[str, bytes], tolerance: float = 0.0
) -> OutputComparison:
    allowed = Tolerance(absolute=tolerance)
    return verification.compare_outputs(evidence(outputs=plain), evidence(outputs=reduced), allowed)


def row(name: str, *, equal: bool = True, difference: float | None = 0.0) -> OutputResult:
    return OutputResult(name=name, size_bytes=12, equal=equal, largest_difference=difference)


def test_equal_outputs_pass() -> None:
    """Whatever the description in the file says: it differs between builds."""
    assert compared(
        {"a": GOOD}, {"a": floats(1.0, 2.0, 3.0, text="no names here")}
    ) == OutputComparison(
        status=ScenarioStatus.PASS,
        text="outputs equal to the last bit (1 tensor, 12 bytes)",
        outputs=(row("a"),),
    )


def test_several_outputs_are_shown_by_name() -> None:
    found = compared({"b": GOOD, "a": GOOD}, {"a": GOOD, "b": GOOD})

    assert found.text == "outputs equal to the last bit (2 tensors, 24 bytes)"
    assert found.outputs == (row("a"), row("b"))


def test_a_different_value_is_a_parity_break() -> None:
    assert compared({"a": GOOD}, {"a": floats(1.0, 2.5, 3.0)}) == OutputComparison(
        status=ScenarioStatus.PARITY,
        text="output a: largest difference 0.5, allowed is 0",
        outputs=(row("a", equal=False, difference=0.5),),
    )


@pytest.mark.parametrize(
    ("tolerance", "status", "text"),
    [
        (0.5, "pass", "outputs equal within 0.5 (1 tensor, 12 bytes)"),
        (0.25, "parity", "output a: largest difference 0.5, allowed is 0.25"),
    ],
)
def test_a_tolerance_is_obeyed(tolerance: float, status: str, text: str) -> None:
    found = compared({"a": GOOD}, {"a": floats(1.0, 2.5, 3.0)}, tolerance)

    assert (found.status, found.text) == (status, text)
    assert found.outputs[0].largest_difference == 0.5


@pytest.mark.parametrize(
    ("plain", "reduced", "text"),
    [
        ({"a": GOOD, "b": GOOD}, {"a": GOOD}, "output b came from the plain build alone"),
        ({"a": GOOD}, {"a": GOOD, "b": GOOD}, "output b came from the reduced build alone"),
    ],
)
def test_an_output_of_one_build_alone_is_a_parity_break(
    plain: dict[str, bytes], reduced: dict[str, bytes], text: str
) -> None:
    found = compared(plain, reduced)

    assert (found.status, found.text) == ("parity", text)
    assert found.outputs == (row("a"),)


def test_no_output_at_all_proves_nothing() -> None:
    found = compared({}, {})

    assert (found.status, found.text) == ("parity", "the plain build dumped no output")


@pytest.mark.parametrize(
    ("output", "text"),
    [
        (floats(2.0, 2.0, 2.0), "the output a is constant: every number is 2"),
        (floats(*[float("nan")] * 3), "the output a has 3 NaN or infinite numbers of 3"),
    ],
)
def test_an_output_that_cannot_vary_proves_nothing(output: bytes, text: str) -> None:
    found = compared({"a": output}, {"a": output})

    assert (found.status, found.text) == ("parity", f"{text}: that proves nothing")


def test_a_tolerance_beyond_what_an_output_says_proves_nothing() -> None:
    unsure = floats(0.25, 0.3125, 0.4375)
    found = compared({"a": unsure}, {"a": unsure}, 0.5)

    assert found.status == "parity"
    assert found.text == (
        "the output a varies by 0.1875, so a constant passes for it at a tolerance of 0.5 "
        "(set a tolerance below 0.09375): that proves nothing"
    )
    assert compared({"a": unsure}, {"a": unsure}, 0.09).status == "pass"


def test_shapes_that_differ_have_no_difference_in_numbers() -> None:
    found = compared({"a": GOOD}, {"a": floats(1.0, 2.0, 3.0, shape=(3, 1))})

    assert found.text == "output a: shape (3,) became (3, 1)"
    assert found.outputs == (row("a", equal=False, difference=None),)


def test_a_damaged_output_is_a_parity_break_and_no_bad_input() -> None:
    found = compared({"a": GOOD, "b": GOOD}, {"a": GOOD[:-1], "b": GOOD})

    assert found.status == "parity"
    assert found.text.startswith("reduced output a: not an intact dumped output: ")
    assert found.outputs == (row("b"),)


def test_all_problems_are_shown() -> None:
    found = compared({"a": GOOD, "b": GOOD}, {"a": floats(1.0, 2.5, 3.0)})

    assert found.text == (
        "output a: largest difference 0.5, allowed is 0; output b came from the plain build alone"
    )


def proved(
    folder: Path, plain: str, reduced: str, profile: str | None = PROFILE
) -> tuple[VerificationOutcome, list[str], FakeDevice]:
    device, noted = FakeDevice(), []

    def program(name: str, text: str) -> Path:
        (folder / name).mkdir(exist_ok=True)
        path = folder / name / "load_and_run"
        path.write_text(text, encoding="utf-8")
        return path

    def note(variant: str, seen: RunResult) -> None:
        noted.append(variant)

    model = folder / "m.mge"
    model.write_bytes(b"model")
    trial = VerificationCase(
        spec=RunSpec(
            program=program("plain", plain),
            model=model,
            arguments=("--cpu",),
            inputs={},
            threads=1,
            timeout_s=9.0,
        ),
        reduced=program("reduced", reduced),
        profile=None if profile is None else program("profile", profile),
        keep=keep_set(1),
        tolerance=EXACT,
    )
    return prove(trial, device, note), noted, device


def test_equal_outputs_are_a_proof(tmp_path: Path) -> None:
    ended, noted, device = proved(tmp_path, SAYS_GOOD, SAYS_GOOD)

    assert ended == VerificationOutcome(
        time_s=0.5,
        status=ScenarioStatus.PASS,
        text="outputs equal to the last bit (1 tensor, 12 bytes)",
        outputs=(row("o"),),
    )
    assert noted == [Variant.PLAIN, Variant.REDUCED]
    command = ("load_and_run", "model.mge", "--cpu", "--bin-out-dump", "dump")
    assert device.runs == [command, command]


def test_a_trap_is_explained_by_the_profile_build(tmp_path: Path) -> None:
    talks = PROFILE + "".join(f"stderr line {number}\n" for number in range(40))
    ended, noted, _ = proved(tmp_path, SAYS_GOOD, TRAPS, talks)

    assert ended.status == "trap"
    assert ended.text == "it trapped: 1 region it needs are not in the keep set"
    assert ended.missing_regions == ("kern<7>",)
    assert ended.log_tail.splitlines() == [f"line {number}" for number in range(10, 40)]
    assert (ended.outputs, ended.unexplained) == ((), False)
    assert noted == [Variant.PLAIN, Variant.REDUCED, Variant.PROFILE]


@pytest.mark.parametrize(
    ("reduced", "status", "how"),
    [
        (TRAPS, "trap", "it trapped"),
        ("exit 139\nstderr bad\n", "engine-error", "it ended with 139"),
    ],
)
def test_without_a_profile_build_a_bad_end_is_shown_all_the_same(
    tmp_path: Path, reduced: str, status: str, how: str
) -> None:
    ended, noted, _ = proved(tmp_path, SAYS_GOOD, reduced, None)

    assert (ended.status, ended.missing_regions) == (status, ())
    assert ended.text == (
        f"{how}; no profile build is at hand to name what it needs: "
        "to verify it where the engine can be built names it"
    )
    assert ended.unexplained is True
    assert ended.log_tail == ("bad" if "bad" in reduced else "")
    assert noted == [Variant.PLAIN, Variant.REDUCED]


def test_a_plain_build_that_fails_ends_it(tmp_path: Path) -> None:
    ended, noted, _ = proved(tmp_path, "exit 1\nstderr no such operator\n", SAYS_GOOD)

    assert ended.status == "engine-error"
    assert ended.text == "the plain build ended with 1 (failed)"
    assert ended.log_tail == "no such operator"
    assert (ended.outputs, ended.missing_regions) == ((), ())
    assert ended.unexplained is False
    assert noted == [Variant.PLAIN]


def test_conditions_and_crash_are_those_of_the_run_that_is_shown_of(tmp_path: Path) -> None:
    hot, worse = f"status 1\n{SAYS_GOOD}", "status 2\ncrash signal 5|pc 0\n"
    passed, _, _ = proved(tmp_path, hot, SAYS_GOOD + "status 3\n")
    trapped, _, _ = proved(tmp_path, hot, worse + TRAPS, PROFILE + "crash other\n")
    plain, _, _ = proved(tmp_path, worse + TRAPS, SAYS_GOOD)

    conditions = [found.conditions for found in (passed, trapped, plain)]
    assert [each and each.after.thermal_status for each in conditions] == [3, 2, 2]
    assert conditions[0] is not None
    assert conditions[0].before.cpu_c == -3.5
    assert [found.crash for found in (passed, trapped, plain)] == [
        "",
        "signal 5\npc 0",
        "signal 5\npc 0",
    ]


def test_a_device_that_fails_is_no_result(tmp_path: Path) -> None:
    with pytest.raises(InfrastructureFailure, match="adb: it is gone"):
        proved(tmp_path, SAYS_GOOD, "lose it\n")


def test_the_end_of_a_log_is_bounded_and_shows_no_controls(tmp_path: Path) -> None:
    line = f"\x1b[31m{'x' * 200_000}"
    ended, _, _ = proved(tmp_path, f"exit 1\nstderr {line}\nstderr \x1b[0mlast\n", SAYS_GOOD)

    assert len(ended.log_tail) == 65_536
    assert ended.log_tail.endswith("x\n\ufffd[0mlast")
