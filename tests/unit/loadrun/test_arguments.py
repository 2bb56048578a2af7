"""The command line: what megtrim adds, what it refuses, how flags are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.errors import InputError
from megtrim.loadrun.arguments import Flag, Invocation, check_arguments, compose, flags

NEW, OLD = 20220507, 20190219


def read(*arguments: str) -> tuple[Flag, ...]:
    return flags(arguments, source="megtrim.yaml:9")


def refused(*arguments: str, generation: int = NEW) -> InputError:
    with pytest.raises(InputError) as caught:
        check_arguments(arguments, generation=generation, source="megtrim.yaml:9")
    return caught.value


def invocation(*arguments: str, **fields: object) -> Invocation:
    known = {"program": "./load_and_run", "model": "m.mge", "arguments": arguments}
    return Invocation(**{**known, **fields})  # type: ignore[arg-type]


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

    assert caught.value.message == "megtrim.yaml:9: the flag --iter lacks its value"


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

    assert error.message == f"megtrim.yaml:9: the flag --{name} is not for args"
    assert error.hint.startswith(hint)


def test_flag_that_the_newer_engine_renamed() -> None:
    """The engine would only say that it does not know the flag."""
    error = refused("--winograd-transform")

    assert error.message == (
        "megtrim.yaml:9: the flag --winograd-transform is unknown to this engine"
    )
    assert error.hint == "its name is --weight-preprocess from version 1.7 on"


def test_flags_that_pass() -> None:
    """Whatever else the engine knows is the engine's to judge."""
    check_arguments(["--winograd-transform", "--iter", "5"], generation=OLD, source="x")
    check_arguments(["--full-run", "--weight-preprocess", "--new=1"], generation=NEW, source="x")
    check_arguments(["--fast-run-shared-batch-size", "4"], generation=NEW, source="x")


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
        *("--bin_out_dump", "out"),
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


@given(st.lists(st.text(max_size=12), max_size=6))
def test_any_arguments_are_read_or_refused(arguments: list[str]) -> None:
    """One clear message, with its place, or flags without dashes."""
    try:
        found = read(*arguments)
    except InputError as error:
        assert error.message.startswith("megtrim.yaml:9: ")
    else:
        assert all(flag.name and "-" not in flag.name for flag in found)
