"""What a build was made from, as a baseline keeps it and a later build compares it."""

from __future__ import annotations

from dataclasses import replace

from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import (
    PRINT_LENGTH,
    BuildInputs,
    InputPrint,
    ValueChange,
    compare_inputs,
    count_kinds,
    make_print,
)

VGG, QUANT = "tiny-vgg/default@any", "tiny-quant/default@any"
BEFORE = BuildInputs(
    values={"setting trim.optimize": "none", "megtrim": "1", "options": "A=ON"},
    sources={"src/a.cpp": "1", "src/b.h": "2"},
    kept={"region conv<1>": (VGG,), "operator Convolution": (VGG,)},
    scenarios={VGG: "sha --cpu"},
)


def test_equal_inputs_differ_in_nothing() -> None:
    """And a print is small: some characters for each thing."""
    made = make_print(BEFORE)

    assert compare_inputs(made, BEFORE).causes == ()
    assert len(made.sources) == 2 * PRINT_LENGTH
    assert {users: len(found) for users, found in made.kept.items()} == {
        "operator 0": PRINT_LENGTH,
        "region 0": PRINT_LENGTH,
    }
    assert made.values == {"megtrim": "1", "setting trim.optimize": "none"}


def test_files_that_differ_have_names() -> None:
    """New ones, too; what is gone is counted."""
    edited = replace(BEFORE, sources={"src/a.cpp": "9", "src/b.h": "2", "src/new.cpp": "3"})
    removed = replace(BEFORE, sources={"src/b.h": "2"})

    found = compare_inputs(make_print(BEFORE), edited)
    assert (found.causes, found.files) == ((Cause.SOURCE,), ("src/a.cpp", "src/new.cpp"))
    assert compare_inputs(make_print(BEFORE), removed).removed_files == 1


def test_a_new_model_explains_what_only_it_needs() -> None:
    """What is kept for a scenario that was there before has the keep set as its cause."""
    unused = replace(BEFORE, scenarios={VGG: "sha --cpu", QUANT: "other --cpu"})
    for_model = replace(unused, kept={**BEFORE.kept, "region conv<2>": (QUANT,)})
    for_both = replace(unused, kept={**BEFORE.kept, "region conv<2>": (QUANT, VGG)})

    found = compare_inputs(make_print(BEFORE), for_model)
    assert (found.causes, found.came) == ((Cause.MODELS,), {"region conv<2>": (QUANT,)})
    assert found.new_scenarios == (QUANT,)
    assert compare_inputs(make_print(BEFORE), for_both).causes == (Cause.KEEP_SET,)
    assert compare_inputs(make_print(BEFORE), unused).causes == ()


def test_what_a_trim_traces_follows_from_the_other_causes() -> None:
    """It is a cause only if nothing else differs: runs may differ from each other."""
    more = {**BEFORE.kept, "function f": (VGG,)}
    traced = replace(BEFORE, kept=more)
    recompiled = replace(traced, values={**BEFORE.values, "toolchain kind": "zig"})

    both = compare_inputs(make_print(BEFORE), recompiled)
    assert both.causes == (Cause.KEEP_SET, Cause.TOOLCHAIN)
    assert compare_inputs(make_print(BEFORE), recompiled, traced=True).causes == (Cause.TOOLCHAIN,)
    assert compare_inputs(make_print(BEFORE), traced, traced=True).causes == (Cause.KEEP_SET,)


def test_a_model_that_left_takes_what_only_it_needed() -> None:
    """Its names are not known any more, but what they were and how many."""
    whole = replace(
        BEFORE,
        kept={**BEFORE.kept, "function f": (QUANT,), "function g": (QUANT,)},
        scenarios={**BEFORE.scenarios, QUANT: "other"},
    )

    found = compare_inputs(make_print(whole), BEFORE)

    assert found.causes == (Cause.MODELS,)
    assert (found.went, found.lost_scenarios) == ({"function": 2}, (QUANT,))


def test_settings_are_shown_as_they_were() -> None:
    """Long ones as digests."""
    other = {**BEFORE.values, "setting trim.optimize": "size", "setting trim.keep": "f" * 500}

    found = compare_inputs(make_print(BEFORE), replace(BEFORE, values=other))

    assert found.causes == (Cause.FLAGS,)
    keep, optimize = found.values
    assert keep.after.startswith("sha256 ")
    assert optimize == ValueChange(label="setting trim.optimize", before="none", after="size")


def test_a_damaged_print_is_no_traceback() -> None:
    """Indices of scenarios that are not there belong to no model."""
    made = make_print(BEFORE)
    digests = {**made.made_from, Cause.KEEP_SET: "another"}
    odd = replace(made, made_from=digests, kept={"region 7,x": "abcde"})

    assert compare_inputs(odd, BEFORE).went == {"region": 1}
    assert compare_inputs(InputPrint(), BEFORE).causes == ()


def test_kinds_are_counted_in_words_for_people() -> None:
    """Numbers that stand for modes are left out next to these, and only then."""
    assert count_kinds({"hash": 2, "elemwise_mode": 2, "dtype": 1, "region": 1_500}) == (
        "1 data type, 2 elementwise modes and 1,500 regions"
    )
    assert count_kinds({"operator": 1}) == "1 operator"
    assert count_kinds({"hash": 1}) == "1 hash"
