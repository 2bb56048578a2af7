from pathlib import Path

import pytest

from megtrim.core.build_spec import Link, Variant
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.functions.refusals import OF_HEADER
from megtrim.core.proof import verification
from megtrim.core.proof.results import VerificationOutcome
from megtrim.core.proof.trap_diagnosis import ProfileProgram, SymbolizingLink
from megtrim.core.proof.verification import OutputComparison, VerificationCase, prove
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.libs.programs.parity import EXACT, OutputResult, Tolerance
from unit.core.trim.stages.fake_device import GOOD as SAYS_GOOD
from unit.core.trim.stages.fake_device import PROFILE, TRAPS, FakeDevice
from unit.core.trim.stages.support import floats, keep_set

GOOD = floats(1.0, 2.0, 3.0)


def compared(
    plain: dict[str, bytes], reduced: dict[str, bytes], tolerance: float = 0.0
) -> OutputComparison:
    allowed = Tolerance(absolute=tolerance)
    return verification.compare_outputs(plain, reduced, allowed, verification.DumpJudge())


def row(name: str, *, equal: bool = True, difference: float | None = 0.0) -> OutputResult:
    return OutputResult(name=name, size_bytes=12, equal=equal, largest_difference=difference)


UNSURE = floats(0.25, 0.3125, 0.4375)
OTHER = floats(1.0, 2.5, 3.0)
DIFFERS = row("a", equal=False, difference=0.5)
WITHIN = "outputs equal within {} (1 tensor, 12 bytes)"


@pytest.mark.parametrize(
    ("plain", "reduced", "tolerance", "text", "rows"),
    [
        # The description in the file differs between builds.
        (
            {"a": GOOD},
            {"a": floats(1.0, 2.0, 3.0, text="no names here")},
            0.0,
            "outputs equal to the last bit (1 tensor, 12 bytes)",
            (row("a"),),
        ),
        (
            {"b": GOOD, "a": GOOD},
            {"a": GOOD, "b": GOOD},
            0.0,
            "outputs equal to the last bit (2 tensors, 24 bytes)",
            (row("a"), row("b")),
        ),
        ({"a": GOOD}, {"a": OTHER}, 0.5, WITHIN.format(0.5), (row("a", difference=0.5),)),
        ({"a": UNSURE}, {"a": UNSURE}, 0.09, WITHIN.format(0.09), (row("a"),)),
        # A parity break names all problems.
        (
            {"a": GOOD},
            {"a": OTHER},
            0.0,
            "output a: largest difference 0.5, allowed is 0",
            (DIFFERS,),
        ),
        (
            {"a": GOOD},
            {"a": OTHER},
            0.25,
            "output a: largest difference 0.5, allowed is 0.25",
            (DIFFERS,),
        ),
        (
            {"a": GOOD, "b": GOOD},
            {"a": GOOD},
            0.0,
            "output b came only from the plain build",
            (row("a"),),
        ),
        (
            {"a": GOOD},
            {"a": GOOD, "b": GOOD},
            0.0,
            "output b came only from the reduced build",
            (row("a"),),
        ),
        ({}, {}, 0.0, "the plain build dumped no output", ()),
        *(
            ({"a": output}, {"a": output}, 0.0, f"{text}: that proves nothing", (row("a"),))
            for output, text in (
                (floats(2.0, 2.0, 2.0), "the output a is constant: every number is 2"),
                (floats(*[float("nan")] * 3), "the output a has 3 NaN or infinite numbers of 3"),
            )
        ),
        (
            {"a": UNSURE},
            {"a": UNSURE},
            0.5,
            (
                "the output a varies by 0.1875, so a constant passes for it at a tolerance of 0.5 "
                "(set a tolerance below 0.09375): that proves nothing"
            ),
            (row("a"),),
        ),
        (
            {"a": GOOD},
            {"a": floats(1.0, 2.0, 3.0, shape=(3, 1))},
            0.0,
            "output a: shape (3,) became (3, 1)",
            (row("a", equal=False, difference=None),),
        ),
        (
            {"a": GOOD, "b": GOOD},
            {"a": GOOD[:-1], "b": GOOD},
            0.0,
            "reduced output a: the dumped output is damaged: ",
            (row("b"),),
        ),
        (
            {"a": GOOD, "b": GOOD},
            {"a": OTHER},
            0.0,
            (
                "output a: largest difference 0.5, allowed is 0; output b came only from the plain "
                "build"
            ),
            (DIFFERS,),
        ),
    ],
)
def test_outputs_are_equal_or_a_parity_break(
    plain: dict[str, bytes],
    reduced: dict[str, bytes],
    tolerance: float,
    text: str,
    rows: tuple[OutputResult, ...],
) -> None:
    found = compared(plain, reduced, tolerance)

    assert found.status == ("pass" if text.startswith("outputs equal") else "parity")
    assert found.text.startswith(text) if text.endswith(": ") else found.text == text
    assert found.outputs == rows


def proved(
    folder: Path,
    plain: str,
    reduced: str,
    profile: str | None = PROFILE,
    *,
    named: str | None = None,
) -> tuple[VerificationOutcome, list[str], FakeDevice]:
    device = FakeDevice()
    noted = []

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
        profile=None
        if profile is None
        else ProfileProgram(program=program("profile", profile), traces=MidoutTraces()),
        keep=keep_set(1),
        tolerance=EXACT,
        guarded=True,
        named=None
        if named is None
        else SymbolizingLink(program=program("named", named), dropped=("left_out", *OF_HEADER)),
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
    assert ended.text == "it trapped: 1 region it needs is not in the keep set"
    assert ended.missing_regions == ("kern<7>",)
    assert ended.log_tail.splitlines() == [f"line {number}" for number in range(10, 40)]
    assert (ended.outputs, ended.unexplained) == ((), False)
    assert noted == [Variant.PLAIN, Variant.REDUCED, Variant.PROFILE]


@pytest.mark.parametrize(
    ("reduced", "status", "how"),
    [
        (TRAPS, "trap", "it trapped"),
        ("exit 139\nstderr bad\n", "engine-error", "it crashed (exit status 139)"),
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


DIFFERS_NOW = "output o 1 2 4\n"


def test_a_call_that_returned_an_error_is_explained_by_the_named_link(tmp_path: Path) -> None:
    """The program lives on, and nothing but what it says is another."""
    asked, *_ = proved(tmp_path, SAYS_GOOD, DIFFERS_NOW)
    found = []
    for said in (
        "",
        "stderr megtrim: function #0 is not kept\n",
        "stderr megtrim: function #2 is not kept\n",
    ):
        ended, noted, _ = proved(tmp_path, SAYS_GOOD, DIFFERS_NOW, named=DIFFERS_NOW + said)
        assert (ended.status, ended.unexplained) == ("parity", False)
        assert noted == [Variant.PLAIN, Variant.REDUCED, Link.NAMED]
        found.append(ended.text.removeprefix(asked.text))

    assert (asked.status, asked.unexplained) == ("parity", True)
    error = "; a call returned an error: "
    assert found == [
        "",
        f"{error}the function left_out is not kept, because the keep set does not list it",
        f"{error}a region is not kept, or a check of the engine failed",
    ]


def test_a_plain_build_that_fails_ends_it(tmp_path: Path) -> None:
    ended, noted, _ = proved(tmp_path, "exit 1\nstderr no such operator\n", SAYS_GOOD)

    assert ended.status == "engine-error"
    assert ended.text == "the plain build ended with 1 (failed)"
    assert ended.log_tail == "no such operator"
    assert (ended.outputs, ended.missing_regions) == ((), ())
    assert ended.unexplained is False
    assert noted == [Variant.PLAIN]


def test_conditions_and_crash_are_those_of_the_run_that_is_shown_of(tmp_path: Path) -> None:
    hot = f"status 1\n{SAYS_GOOD}"
    worse = "status 2\ncrash signal 5|pc 0\n"
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


def test_the_end_of_a_log_is_bounded_and_shows_no_controls(tmp_path: Path) -> None:
    line = f"\x1b[31m{'x' * 200_000}"
    ended, _, _ = proved(tmp_path, f"exit 1\nstderr {line}\nstderr \x1b[0mlast\n", SAYS_GOOD)

    assert len(ended.log_tail) == 65_536
    assert ended.log_tail.endswith("x\n\ufffd[0mlast")
