from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.engines.load_and_run.arguments import check_arguments, check_reserved, compose
from megtrim.engines.load_and_run.dialects import LITE, SDK
from megtrim.libs.programs.application_arguments import Places
from megtrim.libs.programs.flags import (
    Dialect,
    Flag,
    is_on,
    parse_flags,
    render_flags,
    set_flag,
    without,
)
from megtrim.libs.util.errors import InputError


def read(*arguments: str, dialect: Dialect = LITE) -> tuple[Flag, ...]:
    return parse_flags(arguments, dialect=dialect, source="megtrim.yaml:9")


def refused(*arguments: str, dialect: Dialect = LITE) -> InputError:
    with pytest.raises(InputError) as caught:
        check_arguments(arguments, dialect=dialect, source="megtrim.yaml:9")
    return caught.value


def write(
    *arguments: str, search: bool = False, dumps: bool = False, **fields: object
) -> tuple[str, ...]:
    known: dict[str, object] = {"model": "m.mge", "outputs": "out", "threads": 1}
    places = Places(**{**known, **fields})  # type: ignore[arg-type]
    return compose("./load_and_run", arguments, places, search=search, dumps=dumps)


@pytest.mark.parametrize(
    ("dialect", "arguments", "expected"),
    [
        # One or two dashes, - and _ alike, a value behind = or as the next argument.
        (
            LITE,
            "--cpu -enable-nchw44 --iter 5 --warmup_iter=2 --range=",
            ["cpu", "enable_nchw44", "iter=5", "warmup_iter=2", "range="],
        ),
        (LITE, "--nocpu --cpu=false --no-sanity-check", ["nocpu", "cpu=false", "no_sanity_check"]),
        # The program takes the next argument as a value, whatever it is.
        (LITE, "--multithread -1", ["multithread=-1"]),
        (LITE, "--model-info --cpu", ["model_info", "cpu"]),
        (SDK, "--model-info --cpu", ["model_info=--cpu"]),
        (SDK, "--layout-transform arm --cpu", ["layout_transform=arm", "cpu"]),
        (SDK, "--layout-transform --cpu", ["layout_transform", "cpu"]),
        (SDK, "--cpu --layout-transform", ["cpu", "layout_transform"]),
    ],
)
def test_flags_are_read_as_there(dialect: Dialect, arguments: str, expected: list[str]) -> None:
    flags_read = read(*arguments.split(), dialect=dialect)

    found = [f.name if f.value is None else f"{f.name}={f.value}" for f in flags_read]
    assert found == expected


@pytest.mark.parametrize("argument", ["model.mge", "", "-", "--", "---cpu", "--=3", "5"])
def test_what_is_no_flag_is_refused(argument: str) -> None:
    with pytest.raises(InputError) as caught:
        read("--cpu", argument)

    assert caught.value.message == (
        f"megtrim.yaml:9: found the argument {argument!r}, expected a flag such as --cpu"
    )


NOT_ALLOWED = "the flag {} is not allowed in args"
UNKNOWN = "the flag {} is unknown to this engine"
OLD = "found the argument {!r}, which load_and_run up to 1.6 does not accept"
OTHER_OLD = replace(SDK, switches=SDK.switches - {"weight_preprocess"})


@pytest.mark.parametrize(
    ("dialect", "arguments", "message", "name", "hint"),
    [
        # It would swallow what megtrim adds behind it.
        (LITE, "--cpu --iter", "the flag {} has no value", "--iter", ""),
        # What is not bound by digest could differ between trace and verification.
        (LITE, "--input x.npy", NOT_ALLOWED, "--input", "use the key inputs"),
        (LITE, "-input=x.npy", NOT_ALLOWED, "--input", "use the key inputs"),
        (LITE, "--bin_out_dump d", NOT_ALLOWED, "--bin_out_dump", "leave it out"),
        (LITE, "--bin-out-dump=d", NOT_ALLOWED, "--bin_out_dump", "leave it out"),
        (LITE, "--fast-run-algo-policy c", NOT_ALLOWED, "--fast_run_algo_policy", "use the key al"),
        (LITE, "--fast-run", NOT_ALLOWED, "--fast_run", "use the key fast_run"),
        (LITE, "--nofast_run", NOT_ALLOWED, "--nofast_run", "use the key fast_run"),
        (LITE, "--flagfile=f", NOT_ALLOWED, "--flagfile", "write its flags into args"),
        (LITE, "--fromenv=cpu", NOT_ALLOWED, "--fromenv", "write its flags into args"),
        (LITE, "--tryfromenv=cpu", NOT_ALLOWED, "--tryfromenv", "write its flags into args"),
        # From 1.7 on the program dumps after each run, and crashes after one without a result.
        (LITE, "--fake-first", NOT_ALLOWED, "--fake-first", "leave it out: this engine crashes"),
        (LITE, "-fake_first", NOT_ALLOWED, "--fake-first", "leave it out: this engine crashes"),
        (LITE, "--fake_first=true", NOT_ALLOWED, "--fake-first", "leave it out: this engine"),
        # The engine would only say that it does not know the flag.
        (
            LITE,
            "--winograd-transform",
            UNKNOWN,
            "--winograd-transform",
            "this engine calls it --weight-preprocess",
        ),
        (
            replace(LITE, closed=False),
            "--winograd-transform",
            UNKNOWN,
            "--winograd-transform",
            "this engine calls it --weight-preprocess",
        ),
        (
            OTHER_OLD,
            "--weight-preprocess",
            UNKNOWN,
            "--weight-preprocess",
            "this engine calls it --winograd-transform",
        ),
        (LITE, "--enable-nchw4-dot", UNKNOWN, "--enable-nchw4-dot", "did you mean --enable-nchw44"),
        (SDK, "--enable-nchw4-dot", UNKNOWN, "--enable-nchw4-dot", "did you mean --enable-nchw44"),
        (SDK, "--nocpu", UNKNOWN, "--nocpu", "did you mean --cpu?"),
        (SDK, "--fuse-grain", UNKNOWN, "--fuse-grain", "it was looked for in load_and_run up to 1"),
        (LITE, "--zzz=1", UNKNOWN, "--zzz", "it was looked for in load_and_run from 1.7 on"),
        # It compares arguments with names; what gflags takes besides is an invalid argument there.
        (SDK, "-cpu", OLD, "-cpu", "write it as --cpu"),
        (SDK, "--iter=5", OLD, "--iter=5", "write it as --iter and 5, as two arguments"),
        (SDK, "--enable_nchw44", OLD, "--enable_nchw44", "write it as --enable-nchw44"),
        (SDK, "-warmup_iter=2", OLD, "-warmup_iter=2", "write it as --warmup-iter and 2, as two"),
    ],
)
def test_arguments_that_are_refused(
    dialect: Dialect, arguments: str, message: str, name: str, hint: str
) -> None:
    error = refused("--cpu", *arguments.split(), dialect=dialect)

    assert error.message == f"megtrim.yaml:9: {message.format(name)}"
    assert error.hint.startswith(hint)
    if message == OLD:
        check_arguments(["--cpu", *arguments.split()], dialect=LITE, source="x")


@pytest.mark.parametrize(
    ("dialect", "arguments"),
    [
        (SDK, "--winograd-transform --iter 5"),
        (SDK, "--layout-transform --cpu"),
        (LITE, "--full-run --weight-preprocess --nocpu"),
        (LITE, "--fast-run-shared-batch-size 4 -mdl"),
        (replace(LITE, closed=False), "--new=1"),
        (SDK, "--fake-first"),
        (replace(LITE, dumps_warm_ups=False), "--fake-first"),
        (LITE, "--nofake_first"),
        (LITE, "--fake-first=false"),
        (LITE, "--fake_first=0"),
    ],
)
def test_flags_that_pass(dialect: Dialect, arguments: str) -> None:
    check_arguments(arguments.split(), dialect=dialect, source="x")


@pytest.mark.parametrize("arguments", ["--flagfile f", "--cpu -flagfile=f", "--iter --nofast-run"])
def test_reserved_flags_without_a_dialect(arguments: str) -> None:
    with pytest.raises(InputError, match=r"scenario m/s@c: the flag --\w+ is not allowed in a"):
        check_reserved(arguments.split(), source="scenario m/s@c")
    check_reserved(["--cpu", "--iter", "5", "model.mge"], source="x")


WHOLE = {
    "inputs": {"data": "in/a.npy", "h2d[0]": "/tmp/a:b.npy"},
    "threads": 2,
    "algo_cache": "cache",
    "search": True,
    "dumps": True,
}


@pytest.mark.parametrize(
    ("arguments", "fields", "expected"),
    [
        ("--cpu --iter 5", {}, "--cpu --iter 5"),
        (
            "--cpu",
            WHOLE,
            (
                "--cpu --multithread 2 --fast-run --fast-run-algo-policy cache "
                "--input data:in/a.npy;h2d[0]:/tmp/a:b.npy --bin-out-dump out"
            ),
        ),
        # The user's own number of threads wins.
        ("--multithread 4", {"threads": 2}, "--multithread 4"),
        ("--multithread=4", {"threads": 2}, "--multithread=4"),
        ("--multithread-default 4", {"threads": 2}, "--multithread-default 4"),
        ("", {"inputs": {"d": "a.json"}}, "--input d:a.json"),
        ("", {"inputs": {"d": "a.npy"}}, "--input d:a.npy"),
        ("", {"inputs": {"d": "a.pgm"}}, "--input d:a.pgm"),
        ("", {"inputs": {"d": "a.ppm"}}, "--input d:a.ppm"),
    ],
)
def test_the_whole_command_line(arguments: str, fields: dict[str, Any], expected: str) -> None:
    made = write(*arguments.split(), **fields)

    assert made == ("./load_and_run", "m.mge", *expected.split())


@pytest.mark.parametrize(
    ("name", "path", "message"),
    [
        # A colon ends the name, a semicolon the file.
        *((name, "a.npy", f"name {name!r} cannot be passed on: ex") for name in ("", "a:b", "a;b")),
        # The program takes anything with another ending for the numbers themselves.
        *(("d", path, f"file {path!r} cannot be") for path in ("a.txt", "a;b.npy", "npy", "")),
    ],
)
def test_inputs_that_cannot_be_passed_on(name: str, path: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        write(inputs={name: path})

    assert caught.value.message.startswith(f"the input {message}")


ANYTHING = st.lists(
    st.text(max_size=12)
    | st.sampled_from(["--cpu", "--iter", "5", "--iter=5", "-cpu", "--layout-transform"]),
    max_size=6,
)


@given(ANYTHING, st.sampled_from([LITE, SDK]))
def test_any_arguments_are_read_or_refused(arguments: list[str], dialect: Dialect) -> None:
    try:
        found = read(*arguments, dialect=dialect)
    except InputError as error:
        assert error.message.startswith("megtrim.yaml:9: ")
    else:
        assert all(flag.name and "-" not in flag.name for flag in found)


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
    assert render_flags(read(*arguments, dialect=dialect), dialect) == expected


@given(st.lists(SWITCHES | VALUES, max_size=6))
def test_what_is_spelled_is_read_the_same(every: list[Flag]) -> None:
    assert read(*render_flags(every, SDK), dialect=SDK) == tuple(every)


def test_a_changed_flag_replaces_all_of_its_name() -> None:
    given_ = read("--iter", "3", "--noenable-nchw44", "--cpu", "--iter=5")

    assert set_flag(given_, "iter", "1") == (
        Flag("noenable_nchw44", None),
        Flag("cpu", None),
        Flag("iter", "1"),
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
    assert is_on(read(*arguments), "cpu", LITE) is on
    # There, it is a flag's name and not the opposite of one.
    assert is_on(read("--no-sanity-check", dialect=SDK), "no_sanity_check", SDK)


@pytest.mark.parametrize("dialect", [SDK, LITE])
def test_lists_hold_together(dialect: Dialect) -> None:
    every = dialect.switches | dialect.values

    assert not dialect.switches & dialect.values
    assert dialect.optional <= dialect.values
    assert all(name == name.lower() and "-" not in name for name in every)
    assert dialect.closed
    # What megtrim adds is known to both.
    assert {"input", "bin_out_dump", "fast_run_algo_policy", "multithread"} <= dialect.values
    assert {"cpu", "fast_run", "weight_preprocess"} <= dialect.switches


def test_where_they_differ_and_an_open_one_knows_all_but_other_names() -> None:
    """The older one compares to the letter, and its model_info swallows an argument."""
    assert (SDK.literal, LITE.literal) == (True, False)
    assert "model_info" in SDK.values
    assert "model_info" in LITE.switches
    assert (SDK.knows("winograd_transform"), LITE.knows("winograd_transform")) == (True, False)
    assert (SDK.knows("nocpu"), LITE.knows("nocpu")) == (False, True)
    assert (SDK.knows("noiter"), LITE.knows("noiter")) == (False, False)
    dialect = replace(LITE, closed=False)

    assert dialect.knows("anything")
    assert not dialect.knows("winograd_transform")


def test_a_trees_flags_replace_the_list() -> None:
    """The list says which take a value; only of a stranger is the source believed."""
    found = SDK.of_tree(
        frozenset({"cpu", "model_info", "own_switch"}), frozenset({"iter", "fast_run", "own"})
    )

    assert found.switches == {"cpu", "fast_run", "own_switch"}
    assert found.values == {"model_info", "iter", "own"}
    assert not found.knows("winograd_transform")
    assert (found.literal, found.optional) == (True, SDK.optional)
    # Flags of the parser stay.
    gflags = LITE.of_tree(frozenset({"cpu"}), frozenset())
    assert gflags.switches == {"cpu", "help", "helpfull", "helpshort", "version"}
    assert gflags.values == frozenset()
