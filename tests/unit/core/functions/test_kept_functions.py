from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.functions import kept_functions
from megtrim.core.functions.link_map import LinkMap
from megtrim.core.functions.observables import Observables
from megtrim.libs.util.errors import InputError
from unit.core.functions.made_links import CODE_AT, calling, functions

RUN = "_ZN2my7Session3runEi"
LOAD = "_ZN2my7Session4loadERKSs"
FORMAT = "_ZN2my3log6formatEPKcz"
WRITE = "_ZN2my3log5writeEPKcz"
HIDDEN = "_ZN12_GLOBAL__N_16hiddenEv"
MAIN = "main"
PROBE = "cpuinfo_probe"
NAMES = (RUN, LOAD, FORMAT, WRITE, HIDDEN, MAIN, PROBE)
STEP = 16
ORIGINS = LinkMap(
    starts=tuple(CODE_AT + STEP * at for at in range(len(NAMES))),
    ends=tuple(CODE_AT + STEP * (at + 1) for at in range(len(NAMES))),
    files=(
        "src/CMakeFiles/my.dir/session/run.cpp.o",
        "src/CMakeFiles/my.dir/session/load.cpp.o",
        "log/liblog.a(format.cpp.o)",
        "log/liblog.a(write.cpp.o)",
        "main.cpp.o",
        "main.cpp.o",
        "third_party/cpuinfo/libcpuinfo.a(probe.c.o)",
    ),
)


def kept(
    *patterns: str,
    where: str = "megtrim.yaml:7",
    ran: Collection[str] = (),
    unseen: Collection[str] = (),
    names: Sequence[str] = NAMES,
    calls: Mapping[str, Sequence[str]] | None = None,
) -> tuple[str, ...]:
    wanted = tuple(kept_functions.KeepPattern(text=text, where=where) for text in patterns)
    code = calling(names, calls or {})
    return kept_functions.keep_always(wanted, ran=ran, unseen=unseen, code=code, origins=ORIGINS)


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        # As linkers write them or as people do, with arguments or without.
        ("my::log::*", {FORMAT, WRITE}),
        ("my::log::write", {WRITE}),
        ("my::log::write(char const*, ...)", {WRITE}),
        ("(anonymous namespace)::hidden", {HIDDEN}),
        ("my::*::??*", {RUN, LOAD, FORMAT, WRITE}),
        ("*hidden*", {HIDDEN}),
        ("(anonymous namespace)::*", {HIDDEN}),
        ("_ZN2my7Session*", {RUN, LOAD}),
        ("*", {*NAMES}),
        ("main", {MAIN}),
        ("*[lL]oad*", {LOAD}),
        ("*std::string const&*", {LOAD}),
        ("cpuinfo_*", {PROBE}),
        # By folder: of objects and archives that lie there, wherever the tree lies.
        ("src/session/", {RUN, LOAD}),
        ("./src/session/", {RUN, LOAD}),
        ("session/", {RUN, LOAD}),
        ("log/", {FORMAT, WRITE}),
        ("cpuinfo/", {PROBE}),
    ],
)
def test_functions_by_name_or_folder(pattern: str, names: set[str]) -> None:
    assert {*kept(pattern)} == names


def test_what_is_kept_can_be_called() -> None:
    calls = {WRITE: [FORMAT], FORMAT: [HIDDEN, LOAD], LOAD: [RUN]}

    assert {*kept("my::log::write", calls=calls)} == {WRITE, FORMAT, HIDDEN, LOAD, RUN}
    assert {*kept("my::log::write", calls=calls, ran=[LOAD, MAIN])} == {WRITE, FORMAT, HIDDEN}
    assert kept("my::log::write", calls=calls, ran=[WRITE]) == ()


def test_what_reports_errors_stays_unasked() -> None:
    """So a trimmed program still says what is wrong; where nothing can be thrown, no more."""
    names = (MAIN, "_ZN2my5ErrorC2EPKc", "__my_assert_fail", "_ZN2my4likeEv", *UNWINDING)

    assert {*kept(names=names)} == {"_ZN2my5ErrorC2EPKc", "__my_assert_fail"}


UNWINDING = (
    "__cxa_throw",
    "__gxx_personality_v0",
    "_Unwind_Resume",
    "__cxa_begin_catch",
    "__aeabi_unwind_cpp_pr1",
    "__gnu_unwind_frame",
    "__gnu_Unwind_Resume",
    "__cxa_end_cleanup",
    "_ZNK10__cxxabiv117__class_type_info9can_catchEPKNS_16__shim_type_infoERPv",
)


def test_reports_that_throw_keep_what_exceptions_need() -> None:
    """Much of it is reached by tables alone; the demangler has a small substitute."""
    fail = "_ZN2my11assert_failEPKc"
    names = (MAIN, fail, "__cxa_demangle", *UNWINDING)
    calls = {fail: ["__cxa_throw"], "__cxa_throw": ["__cxa_demangle"]}

    assert {*kept(names=names, calls=calls)} == {fail, *UNWINDING}
    assert {*kept(names=names, calls=calls, ran=[fail, "__cxa_throw"])} == set()


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        ("my::lgo::*", " (similar: log)"),
        ("my::Sesion::run", " (similar: Session)"),
        ("src/sesion/", " (similar: src/session/)"),
        ("src/session", " (similar: src/session/)"),
        ("my::log::*zzz", ""),
        ("my::(anonymous namespace)::zzz", ""),
        ("nowhere/at/all/", ""),
    ],
)
def test_patterns_that_match_nothing_are_refused_at_once(pattern: str, near: str) -> None:
    with pytest.raises(InputError) as caught:
        kept(pattern, "my::log::*", "no::such")

    assert str(caught.value) == (
        f"megtrim.yaml:7: no function matches {pattern!r}{near}\n"
        "megtrim.yaml:7: no function matches 'no::such'\n"
        "  name functions as in the source, my::log::*, or a folder of objects: src/log/"
    )
    with pytest.raises(InputError):
        kept(pattern)
    assert kept(pattern, "no::such", where="") == ()  # an engine's own default


@given(st.text("my:logSesion*?[]!()~_<> &,0", min_size=1, max_size=20))
def test_any_pattern_matches_or_is_refused(pattern: str) -> None:
    try:
        found = kept(pattern)
    except InputError:
        return

    assert {*found} <= {*NAMES}


def test_what_a_sort_takes_by_the_values_stays() -> None:
    """Values may be addresses, so another run takes another helper than the one that was seen."""
    sort = "_ZNSt6__ndk16__sortIRNS_6__lessIiiEEPiEEvT0_S5_T_"
    taken = "_ZNSt6__ndk17__sort3IRNS_6__lessIiiEEPiEEjT0_S5_S5_T_"
    other = "_ZNSt6__ndk127__insertion_sort_incompleteIRNS_6__lessIiiEEPiEEbT0_S5_T_"
    names = ("main", sort, taken, other, "plain")

    found = kept(
        ran=("main", sort, taken),
        names=names,
        calls={"main": (sort,), sort: (taken, other, "plain")},
    )

    assert found == (other,)
    assert kept(ran=("main",), names=names, calls={sort: (other,)}) == ()
    calls = {"plain": (other,)}
    assert kept(ran=("main",), unseen=("plain",), names=names, calls=calls) == (other,)


SORT = "_ZNSt6__ndk16__sortIRNS_6__lessIiiEEPiEEvT0_S5_T_"
SORT3 = "_ZNSt6__ndk17__sort3IRNS_6__lessIiiEEPiEEjT0_S5_S5_T_"
GROW = "_ZNSt5dequeImSaImEE16_M_push_back_auxIJRKmEEEvDpOT_"


def listed(
    ran: Collection[str],
    *,
    calls: Mapping[str, Sequence[str]],
    names: Sequence[str] = ("main", SORT, SORT3, GROW, "other"),
    groups: Sequence[tuple[str, ...]] = (),
    unseen: Collection[str] = (),
) -> tuple[str, ...]:
    alone = tuple((name,) for name in names if name not in unseen)
    return kept_functions.without_chance(
        ran,
        unseen=unseen,
        code=calling(names, calls),
        observables=Observables(link_sha256="0" * 64, groups=tuple(groups) or alone),
    )


def test_lists_do_not_differ_by_what_depends_on_values() -> None:
    """A queue that grew in one run alone: both lists are equal, and so is what stays."""
    calls = {"main": (SORT, GROW), SORT: (SORT3,)}
    names = ("main", SORT, SORT3, GROW, "other")
    once = names
    again = ("main", SORT, "other")

    assert listed(once, calls=calls) == listed(again, calls=calls) == ("main", "other")
    for ran in (once, again, ("main", "other")):
        assert {*ran, *kept(ran=ran, names=names, calls=calls)} == {*names}


def test_what_nothing_else_keeps_is_listed() -> None:
    assert listed(("main", GROW), calls={}) == (GROW, "main")
    assert listed(("main", GROW), calls={"other": (GROW,)}) == (GROW, "main")
    assert listed(("main", GROW), calls={"other": (GROW,)}, unseen=("other",)) == ("main",)


def test_functions_that_share_code_are_listed_alike() -> None:
    groups = (("alias", GROW), ("main",))
    names = ("main", GROW, "alias")
    ran = (GROW, "alias", "main")

    assert listed(ran, calls={"main": (GROW,)}, names=names, groups=groups) == ("main",)
    assert listed(ran, calls={}, names=names, groups=groups) == ran


KEPT_NAMES = (
    "ran",
    "my_log",
    "engine_log",
    "__assert_fail",
    "_Hashtable_x",
    "shown",
    "hidden",
    "called",
    "compared",
)
KEPT = kept_functions.KeptFunctions(
    ran={"ran": ("m/s@any", "m/t@any")},
    table=replace(
        functions(*((name, 16 * at, 16) for at, name in enumerate(KEPT_NAMES)), machine="x86_64"),
        exported=frozenset({"shown"}),
    ),
    observables=Observables(
        link_sha256="0" * 64,
        groups=(
            *((each,) for each in KEPT_NAMES if each not in ("hidden", "compared")),
            ("compared", "compared.localalias"),
        ),
    ),
    origins=LinkMap(starts=(), ends=(), files=()),
    patterns=(
        kept_functions.KeepPattern(text="my_*", where="megtrim.yaml:9"),
        kept_functions.KeepPattern(text="engine_log"),
    ),
)


@pytest.mark.parametrize(
    ("name", "rule", "by"),
    [
        ("ran", kept_functions.KeepRule.RAN, ("m/s@any", "m/t@any")),
        ("my_log", kept_functions.KeepRule.REQUESTED, ("my_*",)),
        ("engine_log", kept_functions.KeepRule.ENGINE, ("engine_log",)),
        ("__assert_fail", kept_functions.KeepRule.REPORTS, ("*assert_fail*",)),
        ("_Hashtable_x", kept_functions.KeepRule.BY_VALUES, ()),
        ("shown", kept_functions.KeepRule.SHARED, ()),
        ("hidden", kept_functions.KeepRule.UNOBSERVABLE, ()),
        ("called", kept_functions.KeepRule.CALLED, ()),
        ("compared", kept_functions.KeepRule.ALIASED, ()),
    ],
)
def test_the_first_rule_that_applies_is_the_reason(
    name: str, rule: kept_functions.KeepRule, by: tuple[str, ...]
) -> None:
    assert KEPT.find_reason(name) == kept_functions.KeepReason(rule=rule, by=by)


def test_reasons_are_counted() -> None:
    assert KEPT.find_reason("table") is None  # the link does not have it
    found = KEPT.count_reasons([("other", "ran"), ("called",), ("ran",), ("table",)])

    assert [(reason.rule, count) for reason, count in found] == [
        (kept_functions.KeepRule.RAN, 2),
        (kept_functions.KeepRule.CALLED, 1),
    ]
