"""The command line: what megtrim adds, what it refuses, how flags are read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.load_and_run.arguments import (
    Flag,
    ProgramArguments,
    check_arguments,
    check_reserved,
    compose,
    flags,
    is_on,
    render_flags,
    set_flag,
    without,
)
from megtrim.load_and_run.dialects import LITE, SDK, Dialect
from megtrim.util.errors import InputError


def read(*arguments: str, dialect: Dialect = LITE) -> tuple[Flag, ...]:
    return flags(arguments, dialect=dialect, source="megtrim.yaml:9")


def refused(*arguments: str, dialect: Dialect = LITE) -> InputError:
    with pytest.raises(InputError) as caught:
        check_arguments(arguments, dialect=dialect, source="megtrim.yaml:9")
    return caught.value


def invocation(*arguments: str, **fields: object) -> ProgramArguments:
    known = {"program": "./load_and_run", "model": "m.mge", "arguments": arguments}
    return ProgramArguments(**{**known, **fields})  # type: ignore[arg-type]


def test_flags_as_the_program_reads_them() -> None:
    """One or two dashes, - and _ alike, a value behind = or as the next argument."""
    assert read("--cpu", "-enable-nchw44", "--iter", "5", "--warmup_iter=2", "--range=") == (
        Flag("cpu", None),
        Flag("enable_nchw44", None),
        Flag("iter", "5"),
        Flag("warmup_iter", "2"),
        Flag("range", ""),
    )


def test_switches_take_no_argument_of_their_own() -> None:
    """A switch may be turned off in two ways."""
    assert read("--nocpu", "--cpu=false", "--no-sanity-check") == (
        Flag("nocpu", None),
        Flag("cpu", "false"),
        Flag("no_sanity_check", None),
    )


def test_a_value_may_look_like_a_flag() -> None:
    """The program takes the next argument, whatever it is."""
    assert read("--multithread", "-1") == (Flag("multithread", "-1"),)


@pytest.mark.parametrize("argument", ["model.mge", "", "-", "--", "---cpu", "--=3", "5"])
def test_what_is_no_flag_is_refused(argument: str) -> None:
    """The program would take it for a model or pass it over."""
    with pytest.raises(InputError) as caught:
        read("--cpu", argument)

    assert caught.value.message == (
        f"megtrim.yaml:9: found the argument {argument!r}, expected a flag such as --cpu"
    )


def test_a_flag_without_its_value_is_refused() -> None:
    """It would swallow what megtrim adds behind it."""
    with pytest.raises(InputError) as caught:
        read("--cpu", "--iter")

    assert caught.value.message == "megtrim.yaml:9: the flag --iter has no value"


@pytest.mark.parametrize(
    ("arguments", "name", "hint"),
    [
        (("--input", "x.npy"), "input", "use the key inputs"),
        (("-input=x.npy",), "input", "use the key inputs"),
        (("--bin_out_dump", "d"), "bin_out_dump", "leave it out"),
        (("--bin-out-dump=d",), "bin_out_dump", "leave it out"),
        (("--fast-run-algo-policy", "c"), "fast_run_algo_policy", "use the key algo_cache"),
        (("--fast-run",), "fast_run", "use the key fast_run"),
        (("--nofast_run",), "nofast_run", "use the key fast_run"),
        (("--flagfile=f",), "flagfile", "write its flags into args"),
        (("--fromenv=cpu",), "fromenv", "write its flags into args"),
        (("--tryfromenv=cpu",), "tryfromenv", "write its flags into args"),
    ],
)
def test_what_megtrim_sets_itself_is_refused(
    arguments: tuple[str, ...], name: str, hint: str
) -> None:
    """What is not bound by digest could differ between trace and verification."""
    error = refused("--cpu", *arguments)

    assert error.message == f"megtrim.yaml:9: the flag --{name} is not allowed in args"
    assert error.hint.startswith(hint)


@pytest.mark.parametrize(
    ("given", "dialect", "other"),
    [
        ("--winograd-transform", LITE, "--weight-preprocess"),
        ("--winograd-transform", replace(LITE, closed=False), "--weight-preprocess"),
        (
            "--weight-preprocess",
            replace(SDK, switches=SDK.switches - {"weight_preprocess"}),
            "--winograd-transform",
        ),
    ],
)
def test_flag_that_has_another_name(given: str, dialect: Dialect, other: str) -> None:
    """Shown both ways: the engine would only say that it does not know the flag."""
    error = refused(given, dialect=dialect)

    assert error.message == f"megtrim.yaml:9: the flag {given} is unknown to this engine"
    assert error.hint == f"this engine calls it {other}"


@pytest.mark.parametrize(
    ("given", "dialect", "hint"),
    [
        ("--enable-nchw4-dot", LITE, "did you mean --enable-nchw44-dot?"),
        ("--enable-nchw4-dot", SDK, "did you mean --enable-nchw44-dot?"),
        ("--fuse-grain", SDK, "it was looked for in load_and_run up to 1.6"),
        ("--zzz=1", LITE, "it was looked for in load_and_run from 1.7 on"),
    ],
)
def test_flags_that_the_engine_does_not_know(given: str, dialect: Dialect, hint: str) -> None:
    """With the one that was meant, where one is close."""
    error = refused("--cpu", given, dialect=dialect)

    name = given.partition("=")[0]
    assert error.message == f"megtrim.yaml:9: the flag {name} is unknown to this engine"
    assert error.hint == hint


def test_flags_that_pass() -> None:
    """Whatever the engine knows is the engine's to judge."""
    check_arguments(["--winograd-transform", "--iter", "5"], dialect=SDK, source="x")
    check_arguments(["--layout-transform", "--cpu"], dialect=SDK, source="x")
    check_arguments(["--full-run", "--weight-preprocess", "--nocpu"], dialect=LITE, source="x")
    check_arguments(["--fast-run-shared-batch-size", "4", "-mdl"], dialect=LITE, source="x")
    check_arguments(["--new=1"], dialect=replace(LITE, closed=False), source="x")


@pytest.mark.parametrize(
    ("given", "spelled"),
    [
        ("-cpu", "--cpu"),
        ("--iter=5", "--iter and 5, as two arguments"),
        ("--enable_nchw44", "--enable-nchw44"),
        ("-warmup_iter=2", "--warmup-iter and 2, as two arguments"),
    ],
)
def test_the_older_program_takes_flags_to_the_letter(given: str, spelled: str) -> None:
    """It compares arguments with names; what gflags takes besides is an invalid argument there."""
    error = refused("--cpu", given, dialect=SDK)

    assert error.message == (
        f"megtrim.yaml:9: found the argument {given!r}, "
        "which load_and_run up to 1.6 does not accept"
    )
    assert error.hint == f"write it as {spelled}"
    check_arguments(["--cpu", given], dialect=LITE, source="x")  # as the newer one does


def test_values_in_the_older_dialect() -> None:
    """One flag's value may be left out; another swallows what follows, whatever it is for."""
    assert read("--layout-transform", "arm", "--cpu", dialect=SDK) == (
        *(Flag("layout_transform", "arm"), Flag("cpu", None)),
    )
    assert read("--layout-transform", "--cpu", dialect=SDK) == (
        *(Flag("layout_transform", None), Flag("cpu", None)),
    )
    assert read("--cpu", "--layout-transform", dialect=SDK)[-1] == Flag("layout_transform", None)
    assert read("--model-info", "--cpu", dialect=SDK) == (Flag("model_info", "--cpu"),)
    assert read("--model-info", "--cpu") == (Flag("model_info", None), Flag("cpu", None))


def test_no_switch_is_turned_off_in_the_older_dialect() -> None:
    """``--nocpu`` is a flag that it does not know."""
    assert refused("--nocpu", dialect=SDK).hint == "did you mean --cpu?"


@pytest.mark.parametrize(
    "arguments", [("--flagfile", "f"), ("--cpu", "-flagfile=f"), ("--iter", "--nofast-run")]
)
def test_reserved_flags_without_a_dialect(arguments: tuple[str, ...]) -> None:
    """Wherever they stand: whoever checks may not know which program it will be."""
    with pytest.raises(InputError) as caught:
        check_reserved(arguments, source="scenario m/s@c")

    assert caught.value.message.startswith("scenario m/s@c: the flag --")
    assert caught.value.message.endswith(" is not allowed in args")
    check_reserved(["--cpu", "--iter", "5", "model.mge"], source="x")


def test_plain_command_line() -> None:
    """Program, model, arguments, and nothing else."""
    assert compose(invocation("--cpu", "--iter", "5")) == (
        *("./load_and_run", "m.mge", "--cpu", "--iter", "5"),
    )


def test_whole_command_line() -> None:
    """Everything that a scenario can bring, in one order."""
    whole = invocation(
        "--cpu",
        inputs=(("data", "in/a.npy"), ("h2d[0]", "/tmp/a:b.npy")),
        threads=2,
        algo_cache="cache",
        search=True,
        dump_dir="out",
    )

    assert compose(whole) == (
        *("./load_and_run", "m.mge", "--cpu", "--multithread", "2", "--fast-run"),
        *("--fast-run-algo-policy", "cache", "--input", "data:in/a.npy;h2d[0]:/tmp/a:b.npy"),
        *("--bin-out-dump", "out"),
    )


@pytest.mark.parametrize(
    "arguments",
    [("--multithread", "4"), ("--multithread=4",), ("--multithread-default", "4")],
)
def test_threads_that_are_given_are_not_added(arguments: tuple[str, ...]) -> None:
    """The user's own number wins."""
    assert compose(invocation(*arguments, threads=2)) == ("./load_and_run", "m.mge", *arguments)


@pytest.mark.parametrize("name", ["", "a:b", "a;b"])
def test_input_names_that_the_grammar_cannot_carry(name: str) -> None:
    """A colon ends the name, a semicolon the file."""
    with pytest.raises(InputError) as caught:
        compose(invocation(inputs=((name, "a.npy"),)))

    assert caught.value.message == (
        f"the input name {name!r} cannot be passed on: expected no ':' and no ';'"
    )


@pytest.mark.parametrize("path", ["a.txt", "a;b.npy", "npy", ""])
def test_input_files_that_the_program_would_not_open(path: str) -> None:
    """It takes anything with another ending for the numbers themselves."""
    with pytest.raises(InputError) as caught:
        compose(invocation(inputs=(("data", path),)))

    assert caught.value.message == f"the input file {path!r} cannot be passed on"


@pytest.mark.parametrize("suffix", [".json", ".npy", ".pgm", ".ppm"])
def test_input_files_of_every_kind(suffix: str) -> None:
    """The four kinds of file that the program reads."""
    assert compose(invocation(inputs=(("data", f"a{suffix}"),)))[-1] == f"data:a{suffix}"


ANYTHING = st.lists(
    st.text(max_size=12)
    | st.sampled_from(["--cpu", "--iter", "5", "--iter=5", "-cpu", "--layout-transform"]),
    max_size=6,
)


@given(ANYTHING, st.sampled_from([LITE, SDK]))
def test_any_arguments_are_read_or_refused(arguments: list[str], dialect: Dialect) -> None:
    """One clear message, with its place, or flags without dashes."""
    try:
        found = read(*arguments, dialect=dialect)
    except InputError as error:
        assert error.message.startswith("megtrim.yaml:9: ")
    else:
        assert all(flag.name and "-" not in flag.name for flag in found)


@pytest.mark.parametrize("argument", ["--fake-first", "-fake_first", "--fake_first=true"])
def test_a_run_that_computes_nothing_has_no_outputs_to_compare(argument: str) -> None:
    """From 1.7 on the program dumps after each run, and crashes; up to 1.6 after the last."""
    error = refused("--cpu", argument)

    assert error.message == "megtrim.yaml:9: the flag --fake-first is not allowed in args"
    assert "perf run --experiment fake-first" in error.hint
    check_arguments(["--fake-first"], dialect=SDK, source="x")
    check_arguments(["--fake-first"], dialect=replace(LITE, dumps_warm_ups=False), source="x")


@pytest.mark.parametrize("argument", ["--nofake_first", "--fake-first=false", "--fake_first=0"])
def test_a_switch_that_is_turned_off_is_none(argument: str) -> None:
    """As gflags reads it."""
    check_arguments([argument], dialect=LITE, source="x")


SWITCHES = st.sampled_from(sorted(SDK.switches)).map(lambda name: Flag(name, None))
VALUES = st.builds(
    Flag, st.sampled_from(sorted(SDK.values - SDK.optional)), st.from_regex(r"[a-z0-9]{1,9}")
)


@pytest.mark.parametrize(
    ("arguments", "dialect", "expected"),
    [
        (["--cpu", "-iter=3"], LITE, ("--cpu", "--iter", "3")),
        (["--warmup_iter", "0"], LITE, ("--warmup-iter", "0")),
        (["--cpu=false", "--nocpu"], LITE, ("--cpu=false", "--nocpu")),
        (["--iter", "0"], SDK, ("--iter", "0")),
    ],
)
def test_flags_are_spelled_for_the_program(
    arguments: list[str], dialect: Dialect, expected: tuple[str, ...]
) -> None:
    """A value is a word of its own, as every release takes it; only a switch's own stays."""
    assert render_flags(read(*arguments, dialect=dialect), dialect) == expected


@given(st.lists(SWITCHES | VALUES, max_size=6))
def test_what_is_spelled_is_read_the_same(every: list[Flag]) -> None:
    """In the older dialect, which takes the least."""
    assert read(*render_flags(every, SDK), dialect=SDK) == tuple(every)


def test_a_changed_flag_replaces_all_of_its_name() -> None:
    """The others keep their order; how it was turned before is forgotten."""
    given_ = read("--iter", "3", "--noenable-nchw44", "--cpu", "--iter=5")

    assert set_flag(given_, "iter", "1") == (
        *(Flag("noenable_nchw44", None), Flag("cpu", None), Flag("iter", "1")),
    )
    assert set_flag(given_, "enable_nchw44", None)[-1] == Flag("enable_nchw44", None)
    assert Flag("noenable_nchw44", None) not in set_flag(given_, "enable_nchw44", None)
    assert without(given_, "iter", "cpu") == (Flag("noenable_nchw44", None),)


@pytest.mark.parametrize(
    ("arguments", "on"),
    [
        ([], False),
        (["--cpu"], True),
        (["--cpu=true"], True),
        (["--cpu=0"], False),
        (["--cpu", "--nocpu"], False),
        (["--nocpu", "--cpu"], True),
    ],
)
def test_the_last_word_on_a_switch_counts(arguments: list[str], on: bool) -> None:
    """As gflags reads it."""
    assert is_on(read(*arguments), "cpu", LITE) is on


def test_in_the_older_dialect_no_flag_is_turned_off() -> None:
    """There, ``no_sanity_check`` is a flag's name and not the opposite of one."""
    assert is_on(read("--no-sanity-check", dialect=SDK), "no_sanity_check", SDK)
