"""Each function of a header in C is called by a program of the tests or of the examples."""

from support.c_interface import attempts, called, declared
from support.megtrim_cli import ROOT

SAMPLE = ROOT / "examples/sample-engine/src/public/sample_engine/model_c.h"
IN_C = ROOT / "examples/applications/sample-in-c/main.c"
LITE = ROOT / "examples/applications/lite-c-functions/main.c"
MANY = 87
"""Functions of MegEngine's headers; the test with a checkout of it compares their names."""


def test_the_example_in_c_calls_all_of_the_sample_engine() -> None:
    functions = declared(SAMPLE.read_text("utf-8"))

    assert len(functions) == 7
    assert functions <= called(IN_C.read_text("utf-8"))


def test_the_program_for_megengine_has_one_attempt_for_each_function() -> None:
    source = LITE.read_text("utf-8")
    found = attempts(source)

    assert len(found) == len({*found}) == MANY
    assert {*found} <= called(source)


def test_what_is_read_of_a_header_and_of_a_program() -> None:
    header = "/* LITE_API no(); */ LITE_API int\n LITE_a(int x); extern LITE_API const T it;"
    source = "// LITE_a()\nASK(LITE_b, int, LITE_c(1))\nCASE(LITE_a) { return 0; }\n"

    assert declared(header) == {"LITE_a"}
    assert called(source) >= {"LITE_b", "LITE_c"}
    assert "LITE_a" not in called(source)
    assert attempts(source) == ("LITE_b", "LITE_a")
