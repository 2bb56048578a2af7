from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from megtrim.core.chain.result_store import Store
from megtrim.core.chain.session import Session
from megtrim.core.size.byte_table import LabelChange
from megtrim.core.size.growth.arrivals import MOST_PARTS, NewPart, NewUse, PriceBasis, find_arrivals
from megtrim.core.size.growth.build_inputs import (
    SourceKind,
    find_dependency,
    find_kind,
    read_build_inputs,
    strip_sources,
)
from megtrim.core.size.growth.causes import (
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
from megtrim.core.size.prices import Price, PriceList
from megtrim.core.size.views import PriceKind
from megtrim.core.trim.results import ReduceResult
from megtrim.places.compile.projects.checkout import Checkout, digest_of
from unit.core.trim.stages.results import BUILD
from unit.core.trim.stages.support import open_session

NEW = "tiny-quant/default@desk"
KEPT = {"region conv<int, 1>": (NEW,), "region conv<int, 2>": (NEW,), "operator Convert": (NEW,)}
ONE = InputChanges(
    causes=(Cause.MODELS,), new_scenarios=(NEW,), new_models=("tiny-quant",), came=KEPT
)


def changes(**more: object) -> InputChanges:
    known = {name: getattr(ONE, name) for name in ("causes", "new_scenarios", "new_models", "came")}
    return InputChanges(**(known | more))


def price_list(*prices: Price, regions: bool = True) -> PriceList:
    return PriceList(
        artifact="load_and_run", size_bytes=90_000, prices=prices, counts_regions=regions
    )


def price(kind: PriceKind, name: str, margin: int, alone: int | None = None) -> Price:
    return Price(kind=kind, name=name, margin_bytes=margin, alone_bytes=alone)


def test_the_growth_is_the_price_of_the_only_change() -> None:
    attributed = price(PriceKind.MODEL, "tiny-quant", 11_000, alone=80_000)

    for prices, alone in ((None, None), (price_list(attributed), 80_000)):
        (use,) = find_arrivals(ONE, 12_288, (), prices).uses
        assert use == NewUse(
            kind=PriceKind.MODEL,
            name="tiny-quant",
            basis=PriceBasis.BUILT,
            margin_bytes=12_288,
            alone_bytes=alone,
        )


@pytest.mark.parametrize(
    "more",
    [
        {"causes": (Cause.SOURCE, Cause.MODELS)},
        {"causes": (Cause.KEEP_SET, Cause.MODELS)},
        {"changed_scenarios": ("tiny-mobile/default@desk",)},
        {"lost_scenarios": ("tiny-mobile/default@desk",)},
    ],
)
def test_growth_is_no_price_if_anything_else_differs(more: dict[str, object]) -> None:
    (unknown,) = find_arrivals(changes(**more), 12_288).uses
    listed = price_list(price(PriceKind.MODEL, "tiny-quant", 11_000, alone=80_000))
    (attributed,) = find_arrivals(changes(**more), 12_288, (), listed).uses

    assert (unknown.basis, unknown.margin_bytes) == (PriceBasis.UNKNOWN, None)
    assert attributed.basis is PriceBasis.ATTRIBUTED
    assert (attributed.margin_bytes, attributed.alone_bytes) == (11_000, 80_000)


def test_a_price_without_the_code_of_regions_is_a_least_one() -> None:
    listed = price_list(price(PriceKind.MODEL, "tiny-quant", 500, alone=80_000), regions=False)
    (use,) = find_arrivals(changes(causes=(Cause.SOURCE, Cause.MODELS)), 12_288, (), listed).uses

    assert (use.basis, use.margin_bytes, use.alone_bytes) == (PriceBasis.LEAST, 500, None)


def test_several_models_cost_the_growth_together() -> None:
    second = "tiny-vgg/default@desk"
    found = find_arrivals(
        changes(new_scenarios=(NEW, second), new_models=("tiny-quant", "tiny-vgg")), 20_480
    )

    assert found.together_bytes == 20_480
    assert [(each.name, each.basis) for each in found.uses] == [
        ("tiny-quant", PriceBasis.UNKNOWN),
        ("tiny-vgg", PriceBasis.UNKNOWN),
    ]


@pytest.mark.parametrize(
    ("more", "growth", "uses"),
    [
        ({}, None, [(PriceKind.MODEL, "tiny-quant", PriceBasis.UNKNOWN, None)]),
        (
            {"new_scenarios": ("tiny-mobile/large@desk",), "new_models": ()},
            0,
            [(PriceKind.SCENARIO, "tiny-mobile/large@desk", PriceBasis.BUILT, 0)],
        ),
        # It is no cause of growth then, and is named all the same.
        (
            {"causes": (), "came": {}},
            0,
            [(PriceKind.MODEL, "tiny-quant", PriceBasis.BUILT, 0)],
        ),
    ],
    ids=["no baseline", "a scenario of a known model", "a model that needs nothing of its own"],
)
def test_what_came_in_is_named(
    more: dict[str, object], growth: int | None, uses: list[tuple[object, ...]]
) -> None:
    found = find_arrivals(changes(**more), growth)

    assert [(each.kind, each.name, each.basis, each.margin_bytes) for each in found.uses] == uses
    assert find_arrivals(InputChanges(), None).uses == ()
    assert find_arrivals(changes(causes=(Cause.TOOLCHAIN,)), 1).parts == ()


def test_regions_are_counted_by_tag() -> None:
    unknown = find_arrivals(ONE, 1).parts
    listed = price_list(price(PriceKind.OPERATOR, "Convert", 3))
    known = find_arrivals(ONE, 1, (), listed).parts

    assert unknown == (
        NewPart(kind="operator", name="Convert", models=("tiny-quant",)),
        NewPart(kind="region", name="conv", count=2, models=("tiny-quant",)),
    )
    assert [(part.name, part.size_bytes) for part in known] == [("Convert", 3), ("conv", None)]


def test_a_function_has_the_bytes_of_its_symbols() -> None:
    """All instances of a template are one row; what only moved has no bytes of its own."""
    came = dict.fromkeys(("function _ZN6sample3runEi", "function _ZN6sample3runEf"), (NEW,))
    grown = LabelChange(component="kernels", label="sample::run(…)", before=0, after=64)

    (part,) = find_arrivals(changes(came=came), 64, (grown,)).parts
    (unknown,) = find_arrivals(changes(came=came), 64).parts

    assert part == NewPart(
        kind="function", name="sample::run(…)", count=2, size_bytes=64, models=("tiny-quant",)
    )
    assert unknown.size_bytes is None


def test_what_does_not_fit_is_counted() -> None:
    """A first comparison may have thousands of functions; numbers of modes are left out."""
    came = {f"operator Op{n}": (NEW,) for n in range(MOST_PARTS + 3)} | {"hash 7": (NEW,)}
    found = find_arrivals(changes(came=came), 1)

    assert (len(found.parts), found.other_parts) == (MOST_PARTS, 3)


FILES = {
    "src/add.cpp": "void Add::run() { helper(); }\n",
    "src/paste.cpp": "#define NAME(x) k_##x\n",
    "third_party/z/z.c": "int z;\n",
    "third_party/z/z.h": "extern int z;\n",
    "CMakeLists.txt": "add_compile_options(-O2)  # fast\n",
    "README.md": "# Engine\n",
}


def opened(folder: Path) -> Session:
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    files = {name: digest_of(folder / name) or "" for name in FILES}
    engine: Any = SimpleNamespace(checkout=Checkout(root=folder, files=files, commit="", dirty=()))
    made, _ = open_session(folder)
    return replace(made, services=replace(made.services, engine=engine))


def test_each_file_is_part_of_one_cause(tmp_path: Path) -> None:
    now = opened(tmp_path)
    inputs = {"engine": "x", "toolchain version": "14", "keep set": "a list"}
    shipped, _ = Store(tmp_path / "out").ensure(
        "reduce", "x", inputs, lambda _: ReduceResult(build=BUILD, functions={}), ReduceResult
    )

    found = read_build_inputs(shipped, now)

    assert found.sources.keys() == {"src/add.cpp", "src/paste.cpp"}
    assert found.values["toolchain version"] == "14"
    assert found.values["dependency third_party/z"]
    assert {"build files", "megtrim"} <= found.values.keys()
    assert "keep set" not in found.values  # its content stands for it
    digests = found.digests()
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O2)\n", encoding="utf-8")
    assert read_build_inputs(shipped, now).digests() == digests
    (tmp_path / "CMakeLists.txt").write_text("add_compile_options(-O3)\n", encoding="utf-8")
    later = read_build_inputs(shipped, now).digests()
    assert {name for name, each in later.items() if each != digests[name]} == {Cause.FLAGS}


def test_a_key_that_only_measures_is_no_cause(tmp_path: Path) -> None:
    shipped, _ = Store(tmp_path / "out").ensure(
        "reduce", "x", {}, lambda _: ReduceResult(build=BUILD, functions={}), ReduceResult
    )
    digests = [
        read_build_inputs(shipped, configured(opened(tmp_path), **trim)).digests()
        for trim in ({}, {"prices": True}, {"crash_ids": True})
    ]

    assert digests[0] == digests[1] != digests[2]


def configured(session: Session, **trim: bool) -> Session:
    loaded = session.request.loaded
    config = loaded.config
    changed = config.model_copy(update={"trim": config.trim.model_copy(update=trim)})
    return replace(
        session, request=replace(session.request, loaded=replace(loaded, config=changed))
    )


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/opr/conv.cpp", SourceKind.SOURCE),
        ("src/elemwise_modes.txt", SourceKind.SOURCE),
        ("dnn/scripts/gen_param_defs.py", SourceKind.SOURCE),
        ("third_party/cpuinfo/src/init.c", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo/CMakeLists.txt", SourceKind.DEPENDENCY),
        ("src/third_party/z/a.c", SourceKind.DEPENDENCY),
        ("lib/fmt/format.cc", SourceKind.DEPENDENCY),
        ("third_party/cpuinfo.cmake", SourceKind.BUILD),
        ("CMakeLists.txt", SourceKind.BUILD),
        ("cmake/flags.cmake", SourceKind.BUILD),
        ("README.md", SourceKind.OTHER),
        ("src/LICENSE", SourceKind.OTHER),
        (".github/workflows/ci.yml", SourceKind.OTHER),
    ],
)
def test_a_file_is_of_a_kind(path: str, kind: SourceKind) -> None:
    assert find_kind(path, {"lib/fmt"}) is kind


def test_a_third_party_is_named_by_its_folder() -> None:
    assert find_dependency("third_party/cpuinfo/src/init.c") == "third_party/cpuinfo"
    assert find_dependency("lib/fmt/src/format.cc", {"lib/fmt"}) == "lib/fmt"
    assert find_dependency("src/a.cpp") == ""


def test_the_name_of_a_source_is_no_flag() -> None:
    before = "set(sources\n  a.cpp\n)  # all\nadd_compile_options(-O2)\n"
    more = "set(sources\n  a.cpp b/c.cpp\n)\nadd_compile_options(-O2)\n"

    assert strip_sources(before) == strip_sources(more)
    assert strip_sources(before) != strip_sources(before.replace("-O2", "-O3"))


VGG = "tiny-vgg/default@any"
QUANT = "tiny-quant/default@any"
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
    # Of a damaged print, indices of scenarios that are not there belong to no model.
    digests = {**made.made_from, Cause.KEEP_SET: "another"}
    odd = replace(made, made_from=digests, kept={"region 7,x": "abcde"})
    assert compare_inputs(odd, BEFORE).went == {"region": 1}
    assert compare_inputs(InputPrint(), BEFORE).causes == ()


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
    # One that left takes what only it needed.
    left = compare_inputs(make_print(for_model), BEFORE)
    assert left.causes == (Cause.MODELS,)
    assert (left.went, left.lost_scenarios) == ({"region": 1}, (QUANT,))


def test_what_a_trim_traces_follows_from_the_other_causes() -> None:
    """It is a cause only if nothing else differs: runs may differ from each other."""
    more = {**BEFORE.kept, "function f": (VGG,)}
    traced = replace(BEFORE, kept=more)
    recompiled = replace(traced, values={**BEFORE.values, "toolchain kind": "zig"})

    both = compare_inputs(make_print(BEFORE), recompiled)
    assert both.causes == (Cause.KEEP_SET, Cause.TOOLCHAIN)
    assert compare_inputs(make_print(BEFORE), recompiled, traced=True).causes == (Cause.TOOLCHAIN,)
    assert compare_inputs(make_print(BEFORE), traced, traced=True).causes == (Cause.KEEP_SET,)


def test_settings_are_shown_as_they_were() -> None:
    other = {**BEFORE.values, "setting trim.optimize": "size", "setting trim.keep": "f" * 500}

    found = compare_inputs(make_print(BEFORE), replace(BEFORE, values=other))

    assert found.causes == (Cause.FLAGS,)
    keep, optimize = found.values
    assert keep.after.startswith("sha256 ")
    assert optimize == ValueChange(label="setting trim.optimize", before="none", after="size")


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
    before = digest_causes(INPUTS)
    after = digest_causes(INPUTS | {label: "other"})

    assert list_causes(before, after) == causes
    assert before.keys() == {*Cause, ORDERS}


@pytest.mark.parametrize(
    ("also", "causes"),
    [
        ({}, (Cause.FLAGS,)),
        ({"megtrim": "2"}, (Cause.MEGTRIM,)),
        ({"build files": "f"}, (Cause.FLAGS,)),
        # What came or went differs.
        (
            {"scenario mobilenet/default@any": "h", "toolchain version": "15"},
            (Cause.MODELS, Cause.TOOLCHAIN),
        ),
    ],
)
def test_other_orders_follow_from_their_cause(
    also: dict[str, str], causes: tuple[Cause, ...]
) -> None:
    orders = {"header midout.h": "x", "options": "y", "toolchain link flags": "z", "targets": "t"}

    found = list_causes(digest_causes(INPUTS), digest_causes(INPUTS | orders | also))

    assert found == causes


@pytest.mark.parametrize("before", [{}, {"source": "0a1b", "flags": "2c"}])
def test_a_baseline_without_causes_explains_nothing(before: dict[str, str]) -> None:
    """It is from before they were stored, or before there were all of these."""
    assert list_causes(before, digest_causes(INPUTS)) == ()


def seen(changes: InputChanges) -> dict[Cause, str]:
    notes = describe_causes(changes)
    assert all(each.advice for each in notes)
    return {each.cause: each.seen for each in notes}


def test_each_cause_says_what_differs() -> None:
    assert seen(InputChanges(causes=(Cause.SOURCE,))) == {Cause.SOURCE: "the source differs"}
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
        Cause.KEEP_SET: "now kept: 1 function and 1 operator, such as foo::bar(…) for "
        "tiny-vgg/default@any; no longer kept: 2 regions",
        Cause.MODELS: "tiny-quant/default@any is new; now kept: 1 region, such as "
        "conv<1> for tiny-quant/default@any",
        Cause.FLAGS: "build files differ; trim.optimize: size → not set",
        Cause.TOOLCHAIN: "toolchain version: 14 → 16",
        Cause.MEGTRIM: "megtrim: 0.3 aa → 0.4 bb",
    }
