from dataclasses import replace

import pytest

from megtrim.size.growth.inputs import (
    ORDERS,
    PRINT_LENGTH,
    BuildInputs,
    Cause,
    InputChanges,
    InputPrint,
    ValueChange,
    compare_inputs,
    count_kinds,
    describe_causes,
    digest_causes,
    list_causes,
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
    made = make_print(BEFORE)

    assert compare_inputs(made, BEFORE).causes == ()
    assert len(made.sources) == 2 * PRINT_LENGTH
    assert {users: len(found) for users, found in made.kept.items()} == {
        "operator 0": PRINT_LENGTH,
        "region 0": PRINT_LENGTH,
    }
    assert made.values == {"megtrim": "1", "setting trim.optimize": "none"}


def test_files_that_differ_have_names() -> None:
    edited = replace(BEFORE, sources={"src/a.cpp": "9", "src/b.h": "2", "src/new.cpp": "3"})
    removed = replace(BEFORE, sources={"src/b.h": "2"})

    found = compare_inputs(make_print(BEFORE), edited)
    assert (found.causes, found.files) == ((Cause.SOURCE,), ("src/a.cpp", "src/new.cpp"))
    assert compare_inputs(make_print(BEFORE), removed).removed_files == 1


def test_a_new_model_explains_what_only_it_needs() -> None:
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
    whole = replace(
        BEFORE,
        kept={**BEFORE.kept, "function f": (QUANT,), "function g": (QUANT,)},
        scenarios={**BEFORE.scenarios, QUANT: "other"},
    )

    found = compare_inputs(make_print(whole), BEFORE)

    assert found.causes == (Cause.MODELS,)
    assert (found.went, found.lost_scenarios) == ({"function": 2}, (QUANT,))


def test_settings_are_shown_as_they_were() -> None:
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
    assert count_kinds({"hash": 2, "elemwise_mode": 2, "dtype": 1, "region": 1_500}) == (
        "1 data type, 2 elementwise modes and 1,500 regions"
    )
    assert count_kinds({"operator": 1}) == "1 operator"
    assert count_kinds({"hash": 1}) == "1 hash"


INPUTS = {
    "engine": "a",
    "source files": "s",
    "targets": "load_and_run",
    "options": "MGE_INFERENCE_ONLY=ON",
    "toolchain version": "14",
    "toolchain link flags": "-s",
    "header midout.h": "b",
    "application app": "c",
    "dependency third_party/cpuinfo": "d",
    "setting trim.optimize": "size",
    "build files": "e",
    "base": "d",
    "link load_and_run": "e",
    "keep set": "f",
    "scenario resnet/default@any": "g",
    "megtrim": "1",
}


@pytest.mark.parametrize(
    ("label", "causes"),
    [
        ("source files", (Cause.SOURCE,)),
        ("application app", (Cause.SOURCE,)),
        ("dependency third_party/cpuinfo", (Cause.DEPENDENCIES,)),
        ("keep set", (Cause.KEEP_SET,)),
        ("scenario resnet/default@any", (Cause.MODELS,)),
        ("setting trim.optimize", (Cause.FLAGS,)),
        ("build files", (Cause.FLAGS,)),
        ("toolchain version", (Cause.TOOLCHAIN,)),
        ("toolchain link flags", (Cause.FLAGS,)),
        ("megtrim", (Cause.MEGTRIM,)),
        ("engine", ()),
        ("base", ()),
        ("link load_and_run", ()),
    ],
)
def test_an_input_has_a_cause(label: str, causes: tuple[Cause, ...]) -> None:
    """What an earlier stage made of the others has none of its own."""
    before, after = digest_causes(INPUTS), digest_causes(INPUTS | {label: "other"})

    assert list_causes(before, after) == causes


@pytest.mark.parametrize(
    ("also", "causes"),
    [
        ({}, (Cause.FLAGS,)),
        ({"megtrim": "2"}, (Cause.MEGTRIM,)),
        ({"build files": "f"}, (Cause.FLAGS,)),
    ],
)
def test_other_orders_follow_from_their_cause(
    also: dict[str, str], causes: tuple[Cause, ...]
) -> None:
    orders = {"header midout.h": "x", "options": "y", "toolchain link flags": "z", "targets": "t"}

    found = list_causes(digest_causes(INPUTS), digest_causes(INPUTS | orders | also))

    assert found == causes


def test_what_came_or_went_differs() -> None:
    after = INPUTS | {"scenario mobilenet/default@any": "h", "toolchain version": "15"}

    found = list_causes(digest_causes(INPUTS), digest_causes(after))

    assert found == (Cause.MODELS, Cause.TOOLCHAIN)


@pytest.mark.parametrize("before", [{}, {"source": "0a1b", "flags": "2c"}])
def test_a_baseline_without_causes_explains_nothing(before: dict[str, str]) -> None:
    """It is from before they were stored, or before there were all of these."""
    assert list_causes(before, digest_causes(INPUTS)) == ()


def test_every_input_counts_once() -> None:
    assert digest_causes(INPUTS).keys() == {*Cause, ORDERS}


def seen(changes: InputChanges) -> dict[Cause, str]:
    notes = describe_causes(changes)
    assert all(each.advice for each in notes)
    return {each.cause: each.seen for each in notes}


def test_each_cause_says_what_differs() -> None:
    changes = InputChanges(
        causes=tuple(Cause),
        files=("a.cpp", "b.cpp", "c.cpp", "d.cpp", "e.h"),
        removed_files=1,
        values=(
            ValueChange(label="build files", before="a", after="b"),
            ValueChange(label="dependency third_party/cpuinfo", before="1 2", after="3 2"),
            ValueChange(label="megtrim", before="0.3 aa", after="0.4 bb"),
            ValueChange(label="setting trim.optimize", before="size", after=""),
            ValueChange(label="toolchain version", before="14", after="16"),
        ),
        came={
            "operator Reduce": (VGG,),
            "region conv<1>": (QUANT,),
            "function _ZN3foo3barEi": (VGG,),
        },
        went={"region": 2},
        new_scenarios=(QUANT,),
    )

    assert seen(changes) == {
        Cause.SOURCE: "a.cpp, b.cpp, c.cpp and 2 more differ; 1 file fewer",
        Cause.DEPENDENCIES: "third_party/cpuinfo differs",
        Cause.KEEP_SET: "kept and was not: 1 function and 1 operator, such as foo::bar(…) for "
        "tiny-vgg/default@any; not kept any more: 2 regions",
        Cause.MODELS: "tiny-quant/default@any is new; kept and was not: 1 region, such as "
        "conv<1> for tiny-quant/default@any",
        Cause.FLAGS: "the engine's build files differ; trim.optimize: size → not set",
        Cause.TOOLCHAIN: "toolchain version: 14 → 16",
        Cause.MEGTRIM: "megtrim: 0.3 aa → 0.4 bb",
    }


def test_what_has_no_name_is_said_all_the_same() -> None:
    assert seen(InputChanges(causes=(Cause.SOURCE,))) == {Cause.SOURCE: "the source differs"}
