"""Reports of crashes, and releases, that would have a patch keep what no crash has shown."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError, ProductFailure
from megtrim.ship.crashes.finding import CrashFinding
from megtrim.ship.crashes.lookup import look_up
from megtrim.ship.crashes.program import TrimmedProgram
from megtrim.ship.crashes.report import parse_report
from megtrim.ship.release.contents import ReleasePatch
from megtrim.ship.release.patches import choose_functions, expect_kept, make_patch
from support.made_programs import FIRST, ID, STAYS, tombstone
from support.megtrim_cli import run_megtrim
from unit.ship.crashes.made_programs import numbered, program
from unit.ship.release.examples import contents, documents, sha, write

FILE = "/data/app/com.example/lib/arm64/app"
OF = "0" * 64
REPORT = "1" * 64
FIRST_TRAP = STAYS + 32
SECOND_TRAP = STAYS + 36
REGION_TRAP = STAYS + 40
OWN_TRAP = STAYS + 8
NOT_CERTAIN = "it is not certain what is missing"
NOTHING = "there is nothing to patch"


def find(
    at: int, made: TrimmedProgram, *, build_id: str = ID, signal: int = 5, file: str = FILE
) -> CrashFinding:
    data = tombstone([(at, file)], build_id=build_id, signal=signal)
    return look_up(parse_report(data, source="t"), [made])


def test_an_honest_crash_is_patched() -> None:
    earlier = ReleasePatch(
        of=OF,
        program="app",
        build_id=ID,
        report_sha256=REPORT,
        added=("a()",),
        kept=("a()",),
    )
    finding = find(FIRST_TRAP, numbered())
    made = make_patch(
        finding,
        [numbered()],
        replace(contents(), patch=earlier),
        of=OF,
        report_sha256=REPORT,
    )

    assert (made.added, made.kept) == (("first()",), ("a()", "first()"))
    assert (made.program, made.build_id) == ("app", ID)
    expect_kept(finding, {"app": ("_Z6secondi",)})


def expect_refusal(finding: CrashFinding, said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose_functions(finding)


@pytest.mark.parametrize(
    ("build_id", "said"), [("ff" * 20, NOTHING), (ID[:12], NOT_CERTAIN), ("", NOT_CERTAIN)]
)
def test_a_crash_of_another_build_is_patched(build_id: str, said: str) -> None:
    expect_refusal(find(FIRST_TRAP, numbered(), build_id=build_id), said)


@pytest.mark.parametrize(
    ("at", "signal", "file"),
    [
        (FIRST_TRAP, 11, FILE),
        (OWN_TRAP, 5, FILE),
        (STAYS, 5, FILE),
        (FIRST_TRAP, 5, "/apex/com.android.runtime/lib64/bionic/libc.so"),
    ],
)
def test_a_crash_that_trimming_did_not_cause_is_patched(at: int, signal: int, file: str) -> None:
    build_id = ID if file == FILE else "ee" * 20
    made = program()
    expect_refusal(find(at, made, signal=signal, file=file, build_id=build_id), NOTHING)


def test_a_crash_at_every_function_is_patched() -> None:
    expect_refusal(find(FIRST_TRAP, program()), NOT_CERTAIN)


def test_a_crash_at_a_region_is_patched() -> None:
    expect_refusal(find(REGION_TRAP, numbered()), "the crash needs the region kern")


PATCHED = ReleasePatch(
    of=OF,
    program="load_and_run",
    build_id=ID,
    report_sha256=REPORT,
    added=("first()",),
    kept=("first()",),
)


def verify(folder: Path, patch: ReleasePatch) -> tuple[int, str]:
    write(folder / "release", documents(described=replace(contents(), patch=patch)))
    ended = run_megtrim("release", "verify", "release", cwd=folder)
    return ended.rc, ended.stdout + ended.stderr


@pytest.mark.parametrize(
    "forged",
    [
        replace(PATCHED, of="0" * 63),
        replace(PATCHED, of="# A title"),
        replace(PATCHED, report_sha256=""),
        replace(PATCHED, build_id="not hex"),
        replace(PATCHED, program="another"),
        replace(PATCHED, added=()),
        replace(PATCHED, added=("second()",)),
        replace(PATCHED, kept=("second()", "first()")),
        replace(PATCHED, added=("first()", "first()")),
        replace(PATCHED, added=("a\nb",), kept=("a\nb",)),
        replace(PATCHED, added=("\x1b]0;a",), kept=("\x1b]0;a",)),
    ],
)
def test_a_patch_says_what_it_did_not_do(forged: ReleasePatch, tmp_path: Path) -> None:
    status, said = verify(tmp_path, forged)
    assert (status, "release.json: " in said) == (1, True)


def test_an_honest_patch_is_named(tmp_path: Path) -> None:
    status, said = verify(tmp_path, PATCHED)
    assert status == 0, said
    assert "patched after a crash, and keeps: first()\n" in said
    assert sha(documents(described=replace(contents(), patch=PATCHED))["README.md"])


@pytest.mark.parametrize("left_out", [(FIRST,), (FIRST, "_Z6secondi")])
def test_a_patch_that_kept_nothing(left_out: Sequence[str]) -> None:
    with pytest.raises(ProductFailure, match=r"still leaves out first\(\)"):
        expect_kept(find(FIRST_TRAP, numbered()), {"app": left_out})
