"""What differs, in a line for each cause that a stranger can act on."""

from __future__ import annotations

from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import InputChanges, ValueChange
from megtrim.size.growth.notes import describe_causes

VGG, QUANT = "tiny-vgg/default@any", "tiny-quant/default@any"


def seen(changes: InputChanges) -> dict[Cause, str]:
    notes = describe_causes(changes)
    assert all(each.advice for each in notes)
    return {each.cause: each.seen for each in notes}


def test_each_cause_says_what_differs() -> None:
    """By name, at most three of them."""
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
    """An application's own source, for example, is one digest."""
    assert seen(InputChanges(causes=(Cause.SOURCE,))) == {Cause.SOURCE: "the source differs"}
