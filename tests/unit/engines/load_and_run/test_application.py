import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.libs.programs.application_arguments import Places, compose, names_in, placeholders
from megtrim.libs.util.errors import InputError

PLACES = Places(
    model="model.mge",
    outputs="dump",
    threads=2,
    inputs={"data": "input0.npy", "h2d[0]": "input1.npy"},
    algo_cache="algo.cache",
)


def test_every_placeholder_is_filled() -> None:
    arguments = (
        "run",
        "{model}",
        "data={input:data}",
        "-x",
        "{input:h2d[0]}:{input:data}",
        "--threads={threads}",
        "{algo_cache}",
        "--out",
        "{outputs}/",
    )

    assert compose("classify", arguments, PLACES) == (
        "classify",
        "run",
        "model.mge",
        "data=input0.npy",
        "-x",
        "input1.npy:input0.npy",
        "--threads=2",
        "algo.cache",
        "--out",
        "dump/",
    )


def test_placeholders_are_known_and_doubled_braces_are_braces() -> None:
    assert compose("p", ('{{"model": "{model}"}}', "{{threads}}"), PLACES) == (
        "p",
        '{"model": "model.mge"}',
        "{threads}",
    )
    assert placeholders("{model}{input:a}{{x}}{model}") == ("model", "input:a", "model")
    assert names_in(("{model}", "x", "{outputs}{model}")) == {"model", "outputs"}


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("{modle}", "has an unknown placeholder {modle}"),
        ("{}", "has an unknown placeholder {}"),
        ("{input:}", "has an unknown placeholder {input:}"),
        ("{ model }", "has an unknown placeholder { model }"),
        ("x={", "has a lone '{'"),
        ("x}y", "has a lone '}'"),
        ("{{model}", "has a lone '}'"),
    ],
)
def test_what_is_no_placeholder_is_refused(argument: str, said: str) -> None:
    for ask in (placeholders, lambda text: compose("p", (text,), PLACES)):
        with pytest.raises(InputError) as caught:
            ask(argument)
        assert caught.value.message == f"the argument {argument!r} {said}"


@pytest.mark.parametrize("argument", ["{input:other}", "{algo_cache}"])
def test_a_placeholder_that_nothing_was_given_for_is_refused(argument: str) -> None:
    bare = Places(model="m", outputs="o", threads=1)

    with pytest.raises(InputError) as caught:
        compose("p", (argument,), bare)

    found = f"{argument} in the argument {argument!r}"
    assert caught.value.message == f"{found} is an unknown placeholder"


@given(st.text(max_size=40))
def test_any_text_goes_through_when_its_braces_are_doubled(text: str) -> None:
    doubled = text.replace("{", "{{").replace("}", "}}")

    assert compose("p", (doubled,), PLACES) == ("p", text)


@given(st.text(alphabet="{}model:input", max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        compose("p", (text,), PLACES)
    except InputError as error:
        assert repr(text) in error.message
