from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.core.chain.filenames import DROPPED_FILE, TRACE_FILE
from megtrim.core.chain.graph import NAMED
from megtrim.core.chain.result_store import StageFolder
from megtrim.core.chain.session import Session
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.keep.keepset import KeepSet
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.proof.trap_diagnosis import (
    UNLISTED_OPERATOR,
    UNNAMED,
    Diagnosis,
    ProfileProgram,
    SymbolizingLink,
    describe_with_rest,
    diagnose,
    explain,
    explain_by_whole,
    named_files,
    named_program,
    why_not_kept,
)
from megtrim.core.trim.runs.execution import RunResult, RunSpec
from megtrim.engines.midout.marks import MidoutTraces
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InputError
from unit.core.trim.stages.built import built, finish, linked
from unit.core.trim.stages.support import changed, evidence, keep_set, run, trace

THROWN = (
    "terminate called after throwing an instance of 'std::runtime_error'\n"
    "  what():  the model is damaged\n"
)
NOT_KEPT = "megtrim: function #0 is not kept\n"
SPEC = RunSpec(
    program=Path("plain"), model=Path("m.mge"), arguments=(), inputs={}, threads=1, timeout_s=1.0
)
AGAIN = "the committed keep set does not list it"


def make_profile(program: str = "profile") -> ProfileProgram:
    return ProfileProgram(program=Path(program), traces=MidoutTraces())


def explain_by(
    reduced: ProgramRun, profile: RunResult, keep: KeepSet, operators: tuple[str, ...] = ()
) -> Diagnosis:
    lacking = make_profile().list_lacking(profile.recorded, keep)
    return explain(reduced, profile.run, keep, lacking=lacking, lacking_operators=operators)


def test_a_trap_names_the_regions_that_are_missing() -> None:
    profile = evidence(run(stderr="profile log"), trace=trace(9, 1, 3))

    assert explain_by(run(133), profile, keep_set(1, 2)) == Diagnosis(
        status=ScenarioStatus.TRAP,
        text="it trapped: 2 regions it needs are not in the keep set",
        log="profile log",
        missing=("kern<3>", "kern<9>"),
    )


@pytest.mark.parametrize(
    ("ended", "how"),
    [
        (run(132), "it trapped"),
        (run(133), "it trapped"),
        (run(139), "it crashed (exit status 139)"),
        (run(1), "it ended with 1"),
        (run(1, stderr="libc: Fatal signal 5 (SIGTRAP), code 1\n"), "it trapped"),
        (run(130, timed_out=True), "it did not end within 2 s"),
    ],
)
def test_how_it_ended_is_shown(ended: ProgramRun, how: str) -> None:
    found = explain_by(ended, evidence(trace=trace(1, 2)), keep_set(1))

    assert found.status == "trap"
    assert found.text == f"{how}: 1 region it needs is not in the keep set"
    assert found.missing == ("kern<2>",)


def test_an_engine_error_is_shown_in_the_profile_builds_words() -> None:
    profile = evidence(run(134, stderr=THROWN), trace=None)

    assert explain_by(run(133), profile, keep_set(1)) == Diagnosis(
        status=ScenarioStatus.ENGINE_ERROR,
        text="it trapped, and the profile build fails too: "
        "std::runtime_error: the model is damaged",
        log=THROWN,
    )


def test_a_reduced_build_that_alone_fails_is_an_engine_error() -> None:
    profile = evidence(run(stderr="profile log"), trace=trace(1))

    assert explain_by(run(139, stderr="reduced log"), profile, keep_set(1, 2)) == Diagnosis(
        status=ScenarioStatus.ENGINE_ERROR,
        text="it crashed (exit status 139); "
        "the profile build runs it, and nothing is missing from the keep set",
        log="reduced log",
    )


def test_a_crash_with_every_region_may_be_for_an_operator_that_the_engine_inserts() -> None:
    """An option rewrites the graph: neither a model nor a trace names what that puts into it."""
    none = OperatorNeeds(hashes=(), dtypes=(), operators=(), elemwise_modes=())
    keep = replace(keep_set(1), operators=none)

    found = explain_by(run(139), evidence(trace=trace(1)), keep)

    assert found.status is ScenarioStatus.ENGINE_ERROR
    assert found.text == (
        "it crashed (exit status 139); the profile build runs it, and nothing is missing from the "
        f"keep set{UNLISTED_OPERATOR}"
    )


FAILS_TOO = "and the profile build fails too: it ended with "


@pytest.mark.parametrize(
    ("profile", "text"),
    [
        *(
            (evidence(trace=damaged), "")
            for damaged in (None, b"", b"midout_trace v1\nN6midout6Reg", b"\xff")
        ),
        (evidence(run(1), trace=trace(1, 5)), f"{FAILS_TOO}1"),
        (evidence(run(7), trace=trace(1)), f"{FAILS_TOO}7"),
    ],
)
def test_a_trace_that_is_not_whole_names_nothing(profile: RunResult, text: str) -> None:
    found = explain_by(run(133), profile, keep_set(1))

    assert (found.status, found.missing) == ("engine-error", ())
    assert found.text.endswith(text)


@pytest.mark.parametrize(
    ("regions", "operators", "counted"),
    [
        ((5, 6), ("Resize",), "2 regions and 1 operator it needs are"),
        ((1,), ("Resize", "Softmax"), "2 operators it needs are"),
        ((5,), (), "1 region it needs is"),
    ],
)
def test_operators_that_are_missing_are_a_trap_too(
    regions: tuple[int, ...], operators: tuple[str, ...], counted: str
) -> None:
    """A model with an operator that no kept model has traps where the operator is made."""
    profile = evidence(trace=trace(*regions))

    found = explain_by(run(133), profile, keep_set(1), operators)

    assert found.status == "trap"
    assert found.text == f"it trapped: {counted} not in the keep set"
    assert found.lacking_operators == operators
    assert found.missing == tuple(f"kern<{number}>" for number in regions if number != 1)


@pytest.mark.parametrize(
    ("said", "profile", "asked", "missing", "function"),
    [
        ("megtrim: function #1 is not kept\n", "profile", ["named"], (), "ns::two()"),
        ("Trace/breakpoint trap\n", "profile", ["named", "profile"], ("kern<3>",), ""),
        (None, "profile", ["profile"], ("kern<3>",), ""),
        (None, None, [], (), ""),
    ],
)
def test_who_is_asked_what_is_missing(
    said: str | None, profile: str | None, asked: list[str], missing: tuple[str, ...], function: str
) -> None:
    runs: list[str] = []
    named = SymbolizingLink(program=Path("named"), dropped=("_ZN2ns3oneEv", "_ZN2ns3twoEv"))

    def again(build: str, spec: RunSpec) -> RunResult:
        assert spec.program == Path(build)
        assert (spec.recorded == TRACE_FILE) is (build == "profile")
        runs.append(build)
        if build == "named":
            return evidence(run(133, stderr=said or ""), trace=None)
        return evidence(trace=trace(1, 3))

    def built() -> ProfileProgram | None:
        assert "profile" in asked or profile is None
        return make_profile(profile) if profile else None

    found = diagnose(
        run(133), SPEC, again, keep_set(1), named=None if said is None else named, profile=built
    )

    assert (runs, found.missing, found.function) == (asked, missing, function)
    assert found.status == "trap"
    assert found.unexplained is (asked == [])


@pytest.mark.parametrize(
    ("quick", "committed", "why"),
    [
        (False, False, "the keep set does not list it"),
        (False, True, AGAIN),
        (True, False, "no scenario ran it"),
    ],
)
def test_a_list_may_lack_what_a_scenario_runs(quick: bool, committed: bool, why: str) -> None:
    """So only a quick look says that none ran it; a committed list can be written again."""
    given = why_not_kept(committed=committed, quick=quick)
    named = SymbolizingLink(program=Path("named"), dropped=("_ZN2ns3oneEv",))

    def again(build: str, spec: RunSpec) -> RunResult:
        return evidence(run(133, stderr="megtrim: function #0 is not kept\n"))

    found = diagnose(
        run(133), SPEC, again, keep_set(1), named=named, profile=lambda: None, why=given
    )

    assert found.text == f"it trapped: the function ns::one() is not kept, because {why}"


def test_a_trap_without_a_missing_region_is_a_functions() -> None:
    (record,) = keep_set(1).scenarios
    listed = replace(record, functions=("_ZN2ns3oneEv",), link_sha256="7" * 64)

    found = explain_by(
        run(133), evidence(trace=trace(1)), replace(keep_set(1), scenarios=(listed,))
    )

    assert (found.status, found.missing) == ("trap", ())
    assert found.text == (
        "it trapped: a function that the keep set does not list was left out; no region is missing"
    )


def test_where_no_region_is_trimmed_none_is_missing() -> None:
    found = explain_by(run(1), evidence(trace=trace(1, 2)), replace(keep_set(1), scenarios=()))

    assert (found.status, found.missing) == ("engine-error", ())


@pytest.mark.parametrize(
    ("ended", "status", "text"),
    [
        (run(3), "engine-error", "it ended with 3, and called no function that was left out"),
        (run(133), "trap", f"it trapped; {UNNAMED}"),
    ],
)
def test_without_regions_no_profile_build_is_asked(
    ended: ProgramRun, status: str, text: str
) -> None:
    """As for a project that marks none: the named link would have named the function."""
    named = SymbolizingLink(program=Path("named"), dropped=("_Z4gonev",))
    keep = replace(keep_set(1), scenarios=())

    found = diagnose(
        ended, SPEC, lambda _build, _spec: evidence(ended), keep, named=named, profile=make_profile
    )
    whole = explain_by_whole(ended, run(3), "plain program")

    assert (found.status, found.text) == (status, text)
    assert whole.status == "engine-error"
    assert whole.text.endswith(", and the plain program fails too: it ended with 3")


def test_a_function_is_named_where_nothing_makes_names_readable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(name: str) -> str:
        raise InputError(name)

    monkeypatch.setattr("megtrim.core.proof.trap_diagnosis.readable", unreadable)
    named = SymbolizingLink(program=tmp_path / "named", dropped=("_Z4gonev",))
    said = evidence(run(1, stderr="megtrim: function #0 is not kept\n"))

    found = diagnose(
        run(133), SPEC, lambda _build, _spec: said, keep_set(1), named=named, profile=lambda: None
    )

    assert (found.status, found.function) == ("trap", "_Z4gonev")


NO_START = "megtrim: cannot start: this system lets no data change\n"
DAMAGED = (
    "megtrim: the code at 0x0001b2f0 is in /tmp/run-7/load_and_run.rest, which is damaged: "
    "it holds other bytes than were linked\n"
)
GONE = "megtrim: the code at 0x0001b2f0 is in /tmp/run-7/load_and_run.rest, which is not there\n"
QUOTED = "the code at 0x0001b2f0 is in load_and_run.rest, which is"


@pytest.mark.parametrize(
    ("said", "named_says", "status", "text", "asked"),
    [
        (NO_START, NOT_KEPT, "engine-error", '"cannot start: this system lets no data change"', []),
        (f"{NO_START}qemu: uncaught target signal 5\n", "", "engine-error", "cannot start", []),
        (DAMAGED, "", "engine-error", f'"{QUOTED} damaged: it holds other', ["named"]),
        (GONE, NOT_KEPT, "trap", "the function ns::one() is not kept", ["named"]),
        (GONE, "", "trap", f'"{QUOTED} not there"', ["named", "profile"]),
    ],
)
def test_what_the_runtime_says_is_the_cause(
    said: str, named_says: str, status: str, text: str, asked: list[str]
) -> None:
    """But not of a function that is in the second file, which such a run does without."""
    runs: list[str] = []
    named = SymbolizingLink(program=Path("named"), dropped=("_ZN2ns3oneEv",))
    (record,) = keep_set(1).scenarios
    listed = replace(record, functions=("_ZN2ns3twoEv",), link_sha256="7" * 64)

    def again(build: str, spec: RunSpec) -> RunResult:
        runs.append(build)
        return evidence(run(133, stderr=named_says) if build == "named" else run(), trace=trace(1))

    found = diagnose(
        run(133, stderr=said),
        SPEC,
        again,
        replace(keep_set(1), scenarios=(listed,)),
        named=named,
        profile=make_profile,
    )

    assert (found.status, runs) == (status, asked)
    assert text in found.text
    assert "/tmp/run-7" not in found.text
    assert "a function that the keep set does not list" not in found.text


def test_without_a_profile_build_the_runtime_is_quoted() -> None:
    found = diagnose(
        run(133, stderr=GONE),
        SPEC,
        lambda *_: evidence(),
        keep_set(1),
        named=None,
        profile=lambda: None,
    )

    assert found.text.startswith(f'it trapped: "{QUOTED} not there"; no profile build')
    assert found.unexplained


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (GONE, f'it ended with 133: the runtime of deferred functions said "{QUOTED} not there"'),
        ("", "it ended with 133"),
    ],
)
def test_a_run_with_its_rest_is_described(said: str, text: str) -> None:
    assert describe_with_rest(run(133, stderr=said)).startswith(text)


PROGRAM = "links/named/load_and_run"
LIST = DROPPED_FILE.format(target="load_and_run")


def making(session: Session, made: list[str]) -> Session:
    def make(task: str) -> StageFolder:
        made.append(task)
        return finish(session, task, {PROGRAM: "program", LIST: "list"})

    return changed(session, make=make)


def test_it_is_linked_where_a_trap_asks(tmp_path: Path) -> None:
    """Without trimmed functions there is none."""
    made: list[str] = []
    (tmp_path / "regions").mkdir()
    session = making(built(tmp_path / "regions"), made)
    assert named_files("load_and_run", session) is None
    assert named_program("load_and_run", session) is None
    assert made == []

    session = making(linked(tmp_path), made)
    files = named_files("load_and_run", session)

    assert files is not None
    assert [each.read_text(encoding="utf-8") for each in files] == ["program", "list"]
    assert named_files("load_and_run", session) == files
    assert made == [NAMED]


def test_a_program_that_is_not_linked_again_has_none(tmp_path: Path) -> None:
    assert named_files("other", making(linked(tmp_path), [])) is None
    (tmp_path / "again").mkdir()
    failing = changed(linked(tmp_path / "again"), make=lambda _task: None)
    assert named_program("load_and_run", failing) is None
