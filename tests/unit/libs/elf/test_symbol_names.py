import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.elf import symbol_names

LONGEST = "a" * symbol_names.MAX_NAME
FINE = ("main", "_ZN3mgb3fooEv", "_ZZ4mainENK3$_0clEv", "f.constprop.0", ".Lx", "$x", LONGEST)
BREAKS_OUT = (
    "",
    "0f",
    'f"',
    "f g",
    "f\n",
    "f;",
    "f=g",
    "f*",
    "f\\",
    "f\0",
    "f@V1",
    "fü",
    "é",
    "f{",
    "}f",
    "f(",
    "f,",
    "f#",
    "/*f*/",
    "-f",
    "f\r",
    LONGEST + "a",
)


@pytest.mark.parametrize("name", FINE + BREAKS_OUT)
def test_names_that_a_script_can_hold(name: str) -> None:
    assert symbol_names.is_linkable(name) is (name in FINE)


LOCAL = (
    # Static functions, namespaces without a name, lambdas, and what runs before main.
    "_ZL4helpv",
    "_ZN3mgbL4helpEv",
    "_ZN3mgb2cgL4helpEi",
    "_ZN12_GLOBAL__N_14helpEv",
    "_ZNK3mgb12_GLOBAL__N_11A4helpEv",
    "_ZNSt6__ndk16vectorIN12_GLOBAL__N_11AENS_9allocatorIS2_EEED2Ev",
    "_ZZN3lar4bindEvENK3$_0clEv",
    "_GLOBAL__sub_I_main.cpp",
    "_GLOBAL__I_a",
    "_GLOBAL__D_a",
    "__cxx_global_var_init.3",
    "__cxx_global_array_dtor",
)
SHARED = (
    # A letter L is no sign by itself; neither is a C function's name.
    "main",
    "help",
    "_ZN3mgb4helpEv",
    "_ZN3mgb3L1xEv",
    "_ZN2L14helpEv",
    "_ZN1L1LEv",
    "_ZN",
    "_ZZ4mainENKUlvE_clEv",
    "_Z4helpI2L1Ev",
    "_ZN3mgbLEv",
    "_ZN9999999999L1xEv",
)


@pytest.mark.parametrize("name", LOCAL + SHARED)
def test_names_that_no_other_file_can_say(name: str) -> None:
    assert symbol_names.is_local_name(name) is (name in LOCAL)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("_ZN3mgb4helpEv", "mgb::help()"),
        ("_Z4helpISt4pairIiiEEvT_", "void help<std::pair<int, int> >(std::pair<int, int>)"),
        ("_ZN12_GLOBAL__N_14helpEv", "(anonymous namespace)::help()"),
        ("main", "main"),
        ("i", "i"),
        ("_Z", "_Z"),
        ("_Z4he", "_Z4he"),
        ("_Z4help\nv", "_Z4help\nv"),
    ],
)
def test_how_people_read_a_name(name: str, said: str) -> None:
    assert symbol_names.readable(name) == said


@pytest.mark.parametrize(
    ("said", "short"),
    [
        ("main", []),
        ("my::run(int) const", ["my::run"]),
        ("my::(anonymous namespace)::run(void (*)(int))", ["my::(anonymous namespace)::run"]),
        ("my::F::operator()(int)", ["my::F::operator()"]),
        ("my::F::operator()<int>(int)", ["my::F::operator()<int>"]),
        ("my::F::operator[](int)", ["my::F::operator[]"]),
        ("my::F::operator<(my::F const&)", ["my::F::operator<"]),
        ("my::make_operator()", ["my::make_operator"]),
        (
            "f(int)::{lambda(int)#1}::operator()(int) const",
            ["f", "f(int)::{lambda(int)#1}::operator()"],
        ),
        (
            "int f<(anonymous namespace)::A>(A<(anonymous namespace)::A>) [clone .cold]",
            ["int f<(anonymous namespace)::A>"],
        ),
    ],
)
def test_a_name_without_its_arguments(said: str, short: list[str]) -> None:
    assert list(symbol_names.without_arguments(said)) == short


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("std::vector<int>::push_back(int)", "std::vector<int>::push_back(int)"),
        (f"std::vector<std::pair<{'int' * 30}> >::push(A<int>)", "std::vector<…>::push(…)"),
        (f"bool std::operator<< <{'int' * 30}>() const", "bool std::operator<< <…>() const"),
        (f"(anonymous namespace)::F<{'int' * 30}>::operator()(int)", "F<…>::operator()(…)"),
        (f"A<{'int' * 30}>::operator->() const", "A<…>::operator->() const"),
        (f"decltype(({'a' * 80})->b) f_option(o)", "decltype(…) f_option(…)"),
        ("a" * 81, f"{'a' * 79}…"),
        ("a" * 80, "a" * 80),
    ],
)
def test_a_long_name_is_shown_without_what_its_brackets_hold(said: str, shown: str) -> None:
    assert symbol_names.brief(said).removeprefix("(anonymous namespace)::") == shown


def test_a_name_that_unfolds_without_bounds_stays_as_it_is() -> None:
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    numbers = ["", *digits]
    pairs = "".join(f"St4pairIS{number}_S{number}_E" for number in numbers)
    name = f"_Z4helpSt4pairIiiE{pairs}"
    started = time.process_time()

    assert symbol_names.readable(name) == name
    assert (
        symbol_names.readable("_Z4helpSt4pairIiiES0_")
        == "help(std::pair<int, int>, std::pair<int, int>)"
    )
    assert time.process_time() - started < 1


@given(st.text("_ZNSTIE0123456789abcdKL$.", max_size=60))
def test_any_name_is_read_or_left(tail: str) -> None:
    name = f"_Z{tail}"
    symbol_names.is_local_name(name)
    symbol_names.identifiers([name])

    assert symbol_names.readable(name)


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("_ZN3mgb3MapIiE4findEi", "mgb::Map<…>::find(…)"),
        ("_ZN3mgb3MapIfSt6vectorIiSaIiEEE4findEi", "mgb::Map<…>::find(…)"),
        ("_ZN3mgb3runEv", "mgb::run()"),
        ("_ZN3mgb3runEv.cold", "mgb::run()"),
        ("table.constprop.0", "table"),
        ("__cxx_global_var_init.12", "__cxx_global_var_init"),
        ("a.12.b", "a.12.b"),
    ],
)
def test_instances_and_copies_have_one_family(name: str, family: str) -> None:
    assert symbol_names.fold(name) == family


@pytest.mark.parametrize(
    ("name", "at", "names"),
    [
        ("_ZN3mgb3opr3AddIiE3runEv", 3, ["mgb", "opr", "Add"]),
        ("_ZN3mgb12_GLOBAL__N_1L4helpEv", 3, ["mgb", "help"]),
        ("_ZN3mgb99xE", 3, ["mgb", "xE"]),
        ("main", 0, []),
    ],
)
def test_names_that_follow_each_other(name: str, at: int, names: list[str]) -> None:
    assert [*symbol_names.iter_names(name, at)] == names


def test_words_that_names_are_made_of() -> None:
    assert symbol_names.identifiers(["_ZN3mgb7Session4loadERKSs", "main", "_ZN3mgb2T14helpEv"]) == {
        "mgb",
        "Session",
        "load",
        "main",
        "T1",
        "help",
    }
