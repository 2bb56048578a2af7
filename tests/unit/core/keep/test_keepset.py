import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.keep import keepset, keepset_files
from megtrim.core.keep.keepset_files import (
    dump_folder,
    dump_keep_set,
    find_files,
    parse_folder,
    parse_keep_set,
    read_folder,
    read_keep_set,
)
from megtrim.core.keep.operators import OperatorNeeds
from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.engines.models.operators import OperatorInfo, merge, parse_operator_json
from megtrim.libs.util.errors import InputError, MegtrimError
from unit.core.keep.test_region import REGIONS

STRIP_INFO = Path(__file__).parents[3] / "data" / "strip-info"
A, B, C = (Region("tag", (number,)) for number in (1, 2, 3))
NEEDS = OperatorNeeds(
    hashes=((0, ("m",)), (2**64 - 1, ("n",))),
    dtypes=(("Float32", ("m", "n")), ("Int32", ("n",))),
    operators=(("Elemwise", ("m",)),),
    elemwise_modes=(("ADD", ("m",)),),
)


def scenario(name: str, *regions: Region, **changes: object) -> keepset.ScenarioRecord:
    values: dict[str, object] = {
        "id": name,
        "model_sha256": "0" * 64,
        "arguments": ("--cpu",),
        "inputs": (("data", "1" * 64),),
        "algo_cache_sha256": None,
        "threads": 1,
        "trace_sha256": "2" * 64,
        "regions": regions,
    }
    return keepset.ScenarioRecord(**(values | changes))  # type: ignore[arg-type]


def keep(
    *scenarios: keepset.ScenarioRecord, operators: OperatorNeeds | None = None
) -> keepset.KeepSet:
    return keepset.build_keep_set(20220507, scenarios, operators)


def test_each_region_is_listed_with_who_needs_it() -> None:
    found = keep(scenario("n/s@c", C, A, A), scenario("m/s@c", B, A))

    assert [record.id for record in found.scenarios] == ["m/s@c", "n/s@c"]
    assert list(found.regions().items()) == [
        (A, ("m/s@c", "n/s@c")),
        (B, ("m/s@c",)),
        (C, ("n/s@c",)),
    ]
    assert found == keep(scenario("m/s@c", A, B), scenario("n/s@c", A, C))


def test_a_scenario_without_regions_is_a_named_failure() -> None:
    """A build that keeps nothing for it would trap at once."""
    with pytest.raises(TraceFailure, match="m/s@c") as caught:
        keep(scenario("n/s@c", A), scenario("m/s@c"))

    assert caught.value.problem is TraceProblem.EMPTY


LINK = "6" * 64


def ran(name: str, *functions: str, **changes: object) -> keepset.ScenarioRecord:
    return scenario(name, A, functions=functions, **({"link_sha256": LINK} | changes))


@pytest.mark.parametrize(
    ("scenarios", "said"),
    [
        ((), "would trim nothing"),
        ((scenario("m/s@c", A), scenario("m/s@c", B)), "m/s@c occurs twice"),
        # Functions and their link come together.
        ((ran("m/s@c", "main", link_sha256=None),), "found one of functions and their link"),
        ((ran("m/s@c"),), "found one of functions and their link, expected both or neither"),
    ],
)
def test_what_cannot_be_joined(scenarios: tuple[keepset.ScenarioRecord, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        keep(*scenarios)
    with pytest.raises(InputError, match="generation 20210101 are unknown"):
        keepset.build_keep_set(20210101, (scenario("m/s@c", A),), None)


@pytest.mark.parametrize(
    "found",
    # Where the plain build is trimmed, nothing is traced; then no run can miss a region.
    [
        keep(operators=NEEDS),
        keep(scenario("m/s@c"), operators=NEEDS),
        keep(ran("m/s@c", "main", regions=())),
    ],
    ids=["operators alone", "operators of a scenario", "functions alone"],
)
def test_without_traces_all_regions_stay(found: keepset.KeepSet) -> None:
    assert found.regions() == {}
    assert keepset.missing(found, [A]) == ()
    assert parse_keep_set(dump_keep_set(found), source="k") == found


def test_a_scenario_that_lost_regions() -> None:
    before = keep(scenario("a/s@c", C, A, B), scenario("b/s@c", A), scenario("gone/s@c", A))
    after = keep(scenario("a/s@c", B), scenario("b/s@c", A, B), scenario("new/s@c", A))

    assert keepset.find_lost_regions(before, after) == (("a/s@c", (A, C)),)
    assert keepset.find_lost_regions(after, after) == ()


def test_what_was_lost_or_is_missing_is_sorted() -> None:
    many = tuple(Region("tag", (number,)) for number in range(40))
    kept = keep(scenario("a/s@c", many[0]))

    assert keepset.find_lost_regions(keep(scenario("a/s@c", *many)), kept) == (("a/s@c", many[1:]),)
    assert keepset.missing(kept, [*many[::-1], many[3]]) == many[1:]
    read = parse_keep_set(dump_keep_set(keep(scenario("a/s@c", *many[::-1]))), source="k")
    assert read.scenarios[0].regions == many


ZIG = {"toolchain": "zig aarch64-linux-musl"}
HOST = {"toolchain": "host x86_64-linux-gnu"}
GRAPH = {"graph_sha256": "5" * 64}
MODEL = {"model_sha256": "9" * 64}


@pytest.mark.parametrize(
    ("before", "now", "excused"),
    [
        # A scenario that is bound to something else may need less.
        (ZIG, ZIG | MODEL, True),
        (ZIG, ZIG | {"arguments": ("--gpu",)}, True),
        (ZIG, ZIG | {"inputs": ()}, True),
        (ZIG, ZIG | {"algo_cache_sha256": "3" * 64}, True),
        (ZIG, ZIG | {"threads": 2}, True),
        (ZIG, ZIG | {"environment": (("A", "b"),)}, True),
        (ZIG, HOST, True),
        # Another trace of the same scenario does not excuse a loss.
        ({}, {"trace_sha256": "4" * 64}, False),
        # Other weights in the same graph run the same kernels; a toolchain that is not known is
        # the same one.
        (GRAPH, GRAPH | MODEL | HOST, False),
    ],
)
def test_what_excuses_a_loss(
    before: dict[str, object], now: dict[str, object], excused: bool
) -> None:
    lost = keepset.find_lost_regions(
        keep(scenario("a/s@c", A, B, **before)), keep(scenario("a/s@c", A, **now))
    )

    assert lost == (() if excused else (("a/s@c", (B,)),))


TEXT = """{
 "version": 2,
 "generation": 20220507,
 "operators": "listed",
 "scenario m/s@c": {"model_sha256": "MODEL", "arguments": ["--cpu"], "inputs": {"data": "INPUT"}, \
"algo_cache_sha256": null, "threads": 1, "trace_sha256": "TRACE"},
 "region tag<1>": ["m/s@c"],
 "region tag<2>": ["m/s@c"],
 "operator Elemwise": ["m"],
 "dtype Float32": ["m", "n"],
 "dtype Int32": ["n"],
 "elemwise_mode ADD": ["m"],
 "hash 0": ["m"],
 "hash 18446744073709551615": ["n"],
 "": "end"
}
"""
TEXT = TEXT.replace("MODEL", "0" * 64).replace("INPUT", "1" * 64).replace("TRACE", "2" * 64)


def test_the_file_has_a_line_for_each_region_and_scenario() -> None:
    found = keep(scenario("m/s@c", A, B), operators=NEEDS)

    assert dump_keep_set(found) == TEXT
    assert parse_keep_set(TEXT, source="k") == found
    assert json.loads(TEXT)["region tag<1>"] == ["m/s@c"]


def test_every_entry_has_a_line_that_can_be_dropped() -> None:
    """Also the last one: a closing entry follows it."""
    lines = TEXT.splitlines()

    for number in range(1, len(lines) - 2):
        assert json.loads("\n".join(lines[:number] + lines[number + 1 :]))


def test_recorded_needs_come_back_whatever_their_order() -> None:
    models = []
    for name in ("mobilenet-s.mge.json", "resnet18-s.mge.json"):
        (info,) = parse_operator_json((STRIP_INFO / name).read_bytes(), source=name)
        models.append((name.partition(".")[0], info))
    found = keep(scenario("m/s@c", A), operators=merge(models))
    head, *lines, end = dump_keep_set(found).splitlines()
    # The closing entry has no comma, so it stays last.
    turned = "\n".join([head, *lines[-2::-1], lines[-1], end])

    assert found.operators is not None
    assert len(found.operators.hashes) == 2
    assert parse_keep_set(turned, source="k") == found


NONE_USED = OperatorNeeds(hashes=(), dtypes=(), operators=(), elemwise_modes=())
INPUTS = (("b", "1" * 64), ("a", "2" * 64))


@pytest.mark.parametrize(
    ("changes", "operators", "said"),
    [
        ({"algo_cache_sha256": "3" * 64}, None, '\n "operators": "all",\n'),
        ({}, NONE_USED, '\n "operators": "listed",\n'),
        ({"graph_sha256": "5" * 64, "toolchain": "host x"}, None, '"graph_sha256": "555'),
        ({"environment": (("A", "b c"),)}, None, '"environment": {"A": "b c"}'),
        ({"inputs": INPUTS, "threads": 4}, None, f'"inputs": {{"a": "{"2" * 64}", "b"'),
    ],
)
def test_what_a_scenario_is_bound_to_is_written_and_read(
    changes: dict[str, object], operators: OperatorNeeds | None, said: str
) -> None:
    found = keep(scenario("m/s@c", A, **changes), operators=operators)
    text = dump_keep_set(found)

    assert said in text
    assert parse_keep_set(text, source="k") == found
    assert '"environment"' not in text or "environment" in changes


def test_each_function_is_listed_with_who_needs_it() -> None:
    found = keep(ran("n/s@c", "_Z1cv", "main", "main"), ran("m/s@c", "main"))

    assert list(found.functions().items()) == [("_Z1cv", ("n/s@c",)), ("main", ("m/s@c", "n/s@c"))]
    assert found == keep(ran("m/s@c", "main"), ran("n/s@c", "main", "_Z1cv"))


def test_functions_stand_behind_regions_in_the_file() -> None:
    found = keep(ran("m/s@c", "main", "_Z1cv"))
    lines = dump_keep_set(found).splitlines()

    assert f'"trace_sha256": "{"2" * 64}", "link_sha256": "{LINK}"}},' in lines[4]
    assert lines[5:8] == [
        ' "region tag<1>": ["m/s@c"],',
        ' "function _Z1cv": ["m/s@c"],',
        ' "function main": ["m/s@c"],',
    ]
    assert parse_keep_set(dump_keep_set(found), source="k") == found


def test_a_scenario_without_regions_next_to_others_is_a_named_failure() -> None:
    """The build would lack what it runs; one without functions runs what is linked as it is."""
    with pytest.raises(TraceFailure, match="m/s@c: its trace contains no region"):
        keep(ran("m/s@c", "main", regions=()), ran("n/s@c", "main"))

    found = keep(ran("m/s@c", link_sha256=None), ran("n/s@c", "main"))
    assert parse_keep_set(dump_keep_set(found), source="k") == found


def test_a_scenario_that_lost_functions() -> None:
    before = keep(ran("a/s@c", "f", "g", "main"), ran("b/s@c", "main"))

    assert keepset.find_lost_functions(
        before, keep(ran("a/s@c", "f"), ran("b/s@c", "main", "f"))
    ) == (("a/s@c", ("g", "main")),)
    for changed in ({"link_sha256": "7" * 64}, {"threads": 2}):
        assert keepset.find_lost_functions(before, keep(ran("a/s@c", "f", **changed))) == ()
    assert keepset.find_lost_regions(before, keep(ran("a/s@c", "f"))) == ()


def expect_refused(text: str, old: str, new: str, line: int, said: str) -> None:
    changed = text.replace(old, new, 1)
    assert changed != text
    with pytest.raises(InputError) as caught:
        parse_keep_set(changed, source="k.json")

    assert caught.value.message.startswith(f"k.json:{line}: ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert "megtrim trim --accept" in caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"function main"', '"function ma in"', 8, "found 'ma in', expected the linkage name"),
        ('"function main"', '"function "', 8, "found '', expected the linkage name"),
        ('"function main"', r'"function \"; x"', 8, "expected the linkage name of a function"),
        ('main": ["m/s@c"]', 'main": ["x"]', 8, "a function is needed by 'x', which is no"),
        ('main": ["m/s@c"]', 'main": []', 8, "no scenario needs main"),
        (f'"{LINK}"', "null", 5, "expected a sha256"),
        (f'"{LINK}"', '"6"', 5, "expected a sha256"),
        ("link_sha256", "link", 5, "unknown key 'link'"),
        (f', "link_sha256": "{LINK}"', "", 5, "listed for m/s@c, but its link_sha256 is missing"),
    ],
)
def test_functions_that_are_wrong_are_refused_with_file_and_line(
    old: str, new: str, line: int, said: str
) -> None:
    expect_refused(dump_keep_set(keep(ran("m/s@c", "main", "_Z1cv"))), old, new, line, said)


@pytest.mark.parametrize(
    ("records", "lost", "said"),
    [
        # Nothing of that link would stay; what is to be done works at either level.
        (
            (ran("m/s@c", "main", "_Z1cv"),),
            "function",
            "the list of functions of m/s@c is empty, though it has a link_sha256",
        ),
        # Another scenario has some, so that its own are lost; functions are no substitute.
        (
            (ran("m/s@c", "main"), scenario("n/s@c", B)),
            "region tag<1>",
            "no region is needed by m/s@c",
        ),
    ],
    ids=["functions", "regions"],
)
def test_a_list_that_was_emptied_is_refused_with_file_and_line(
    records: tuple[keepset.ScenarioRecord, ...], lost: str, said: str
) -> None:
    lines = dump_keep_set(keep(*records)).splitlines(keepends=True)
    text = "".join(line for line in lines if not line.startswith(f' "{lost}'))

    with pytest.raises(InputError) as caught:
        parse_keep_set(text, source="k.json")

    assert str(caught.value) == (
        f"k.json:5: {said}\n  restore the committed file, or write it again: megtrim trim --accept"
    )


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P"]), min_size=1, max_size=8)
DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)
RECORDS = st.builds(
    keepset.ScenarioRecord,
    id=NAMES,
    model_sha256=DIGESTS,
    arguments=st.lists(st.text(max_size=8), max_size=3).map(tuple),
    inputs=st.dictionaries(NAMES, DIGESTS, max_size=2).map(lambda d: tuple(sorted(d.items()))),
    algo_cache_sha256=st.none() | DIGESTS,
    threads=st.integers(0, 64),
    trace_sha256=DIGESTS,
    regions=st.lists(REGIONS, min_size=1, max_size=4).map(tuple),
) | st.builds(
    scenario,
    NAMES,
    REGIONS,
    functions=st.lists(
        st.from_regex(r"[A-Za-z_.$][A-Za-z0-9_.$]{0,8}", fullmatch=True), min_size=1, max_size=3
    ),
    link_sha256=DIGESTS,
)


@given(st.lists(RECORDS, min_size=1, max_size=3, unique_by=lambda record: record.id))
def test_any_keep_set_survives_its_file(records: list[keepset.ScenarioRecord]) -> None:
    found = keep(*records)
    text = dump_keep_set(found)

    assert parse_keep_set(text, source="k") == found
    assert dump_keep_set(parse_keep_set(text, source="k")) == text


def test_a_merge_that_keeps_both_sides_lines_is_read() -> None:
    """Two branches each add a scenario; git's union of the lines is the union of the needs."""
    base = scenario("b/s@c", A)
    ours = dump_keep_set(keep(base, scenario("a/s@c", A, B))).splitlines()
    theirs = dump_keep_set(keep(base, scenario("c/s@c", A, C))).splitlines()
    union = list(ours)
    for at, line in enumerate(theirs):
        if line not in union:
            union.insert(union.index(theirs[at - 1]) + 1, line)

    merged = parse_keep_set("\n".join(union), source="k")

    assert merged == keep(base, scenario("a/s@c", A, B), scenario("c/s@c", A, C))


def test_the_models_of_both_lines_need_an_operator() -> None:
    lines = TEXT.splitlines()
    merged = [*lines[:7], ' "operator Elemwise": ["n"],', ' "hash 0": ["n"],', *lines[7:]]

    needs = parse_keep_set("\n".join(merged), source="k").operators

    assert needs is not None
    assert (needs.operators[0][1], needs.hashes[0][1]) == (("m", "n"), ("m", "n"))


def test_a_line_that_stands_twice_alike_is_read() -> None:
    keys = "version|operators|scenario m/s@c|region tag<1>|operator Elemwise|hash 0"
    doubled, count = re.subn(rf'^ "(?:{keys})".*\n', r"\g<0>\g<0>", TEXT, flags=re.MULTILINE)

    assert count == 6
    assert parse_keep_set(doubled, source="k") == parse_keep_set(TEXT, source="k")


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"version": 2', '"version": 3', 2, "found version 3, expected 2"),
        ('"version": 2', '"version": true', 2, "found version True, expected 2"),
        ('"version": 2', '"verison": 2', 2, "unknown key 'verison', expected version, gen"),
        ('"version": 2', '"version": 2, "version": 1', 2, "'version' occurs twice, with different"),
        ('"version": 2', '"version 2": 2', 2, "unknown key 'version 2'"),
        (' "version": 2,\n', "", 1, "the key 'version' is missing"),
        ("20220507", "20200101", 3, "generation 20200101 are unknown"),
        ("20220507", '"new"', 3, "expected a whole number"),
        ('"listed"', "null", 4, "found None, expected 'all' or 'listed'"),
        ('"listed"', '["all"]', 4, "found ['all'], expected"),
        ('"listed"', '"all"', 8, "operator Elemwise is listed, but all are kept"),
        ("0" * 64, "0" * 63, 5, "expected a sha256"),
        ('"1' + "1" * 63, '"G' + "1" * 63, 5, "expected a sha256"),
        ("2" * 64, "2" * 65, 5, "expected a sha256"),
        ('sha256": null', 'sha256": 5', 5, "expected a sha256"),
        ('sha256": null', 'sha256": 0', 5, "expected a sha256"),
        ('sha256": null', 'sha256": ""', 5, "expected a sha256"),
        ('["--cpu"]', '"--cpu"', 5, "expected a list of texts"),
        ('["--cpu"]', "[1]", 5, "expected a list of texts"),
        ('{"data": ', '{"data": "", "data": ', 5, "a key occurs twice in one object"),
        ('{"data": "' + "1" * 64 + '"}', "[]", 5, "expected an object"),
        ('"threads": 1', '"threads": -1', 5, "expected a whole number from 0 to 4096"),
        ('"threads": 1', '"threads": 4097', 5, "expected a whole number from 0 to 4096"),
        ('"threads": 1', '"threads": true', 5, "expected a whole number from 0"),
        ('"threads": 1', '"threads": 1, "threads": 2', 5, "the key 'threads' occurs twice"),
        ('"threads": 1', '"environment": {"A": 1}, "threads": 1', 5, "expected a list of texts"),
        ('"threads": 1', '"thread": 1', 5, "unknown key 'thread'"),
        ('"threads": 1, ', "", 5, "the key 'threads' is missing"),
        ('"scenario m/s@c": {', '"scenario m/t@c": {', 5, "no region is needed by m/t@c"),
        ('"": "end"', '"": {}', 14, "unknown key ''"),
        ('"": "end"', '"scenario ": {}', 14, "found the scenario ''"),
        ('"": "end"', '"region tag<2;>": ["m/s@c"]', 14, "'tag<2;>' is not a region"),
        ('"": "end"', '"hash 1": true', 14, "expected a list of texts"),
        ('"": "end"', '"hash -1": ["m"]', 14, 'expected "hash NUMBER"'),
        ('"elemwise_mode ADD"', '"elemwise_mode for"', 11, "found 'for', expected a C++ ident"),
        ('"": "end"', '"hash 07": ["m"]', 14, 'expected "hash NUMBER"'),
        ("18446744073709551615", "18446744073709551616", 13, "expected a whole number from 0"),
        ('tag<2>": ["m/s@c"]', 'tag<2>": ["x"]', 7, "'x', which is not a scenario of the file"),
        ('tag<2>": ["m/s@c"]', 'tag<2>": []', 7, "no scenario needs tag<2>"),
        ('tag<2>": ["m/s@c"]', 'tag<2>": "m/s@c"', 7, "expected a list of texts"),
        ('tag<2>": ["m/s@c"],', 'tag<2>": ["m/s@c"]', 8, "not JSON"),
        (' "region tag<2>": ["m/s@c"],', "<<<<<<< ours", 7, "not JSON"),
        ('"threads": 1', '"threads": NaN', 1, "NaN is not a JSON number"),
        ('"operator Elemwise"', '"operator class"', 8, "found 'class', expected a C++ identifier"),
        ('"operator Elemwise"', '"operator A {}; int x"', 8, "expected a C++ identifier"),
        ('"dtype Int32": ["n"]', '"dtype Int32": [1]', 10, "expected a list of texts"),
    ],
)
def test_what_is_no_keep_set_is_refused_with_file_and_line(
    old: str, new: str, line: int, said: str
) -> None:
    expect_refused(TEXT, old, new, line, said)


CONFLICT = TEXT.replace("}\n", "<<<<<<< a\n=======\n>>>>>>> b\n}\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        *((text, "1: ") for text in ("", "null", "[]", "1", '"x"', "[" * 100_000, "9" * 5000)),
        (CONFLICT, "15: found an unresolved merge conflict"),
    ],
)
def test_other_json_and_open_merges_are_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"^k\.json:{said}"):
        parse_keep_set(text, source="k.json")


def test_two_records_of_one_scenario_that_differ_are_refused() -> None:
    """Two branches traced it again: one of the traces must be chosen."""
    line = TEXT.splitlines()[4]
    other = line.replace('"threads": 1', '"threads": 2')

    with pytest.raises(InputError, match="occurs twice, with different values"):
        parse_keep_set(TEXT.replace(line, f"{line}\n{other}"), source="k")


@given(st.data())
def test_a_damaged_file_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT) - 1))
    end = data.draw(st.integers(at, min(at + 30, len(TEXT))))
    text = TEXT[:at] + data.draw(st.text(max_size=5)) + TEXT[end:]
    try:
        found = parse_keep_set(text, source="k")
    except MegtrimError:
        return

    assert parse_keep_set(dump_keep_set(found), source="k") == found


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "keepset.json").write_text(TEXT, encoding="utf-8")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe")

    assert read_keep_set(tmp_path / "keepset.json") == parse_keep_set(TEXT, source="k")
    for name, said in (
        ("none.json", r"none\.json: cannot be read: No such file"),
        ("binary.json", r"binary\.json:1: found the byte 0xff"),
        ("", r"^megtrim: found a folder, expected a keep set(\n|$)"),
    ):
        with pytest.raises(InputError, match=said):
            read_keep_set(tmp_path / name, shown="" if name else "megtrim")


FILES = ("m/s@c.json", "m/t@c.json", "n/s@c.json")
JOINS = OperatorInfo(hash=7, dtypes=("Int8",), opr_types=("Concat",), elemwise_modes=())
SPLITS = OperatorInfo(hash=7, dtypes=("Int8",), opr_types=("Split",), elemwise_modes=())
SPLIT_NEEDS = merge([("m", JOINS), ("n", SPLITS)])
WHOLE = keep(
    scenario("m/s@c", A), scenario("m/t@c", A, B), scenario("n/s@c", C), operators=SPLIT_NEEDS
)


def refused(texts: dict[str, str]) -> str:
    with pytest.raises(InputError) as caught:
        parse_folder(texts, source="megtrim/keepset")
    return caught.value.message


def write(folder: Path, keep_set: keepset.KeepSet) -> None:
    for name, text in dump_folder(keep_set).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


def test_each_scenario_is_a_keep_set_of_its_own() -> None:
    texts = dump_folder(WHOLE)

    assert tuple(texts) == FILES
    assert texts["n/s@c.json"] == dump_keep_set(
        keep(scenario("n/s@c", C), operators=merge([("n", SPLITS)]))
    )
    assert parse_folder(texts, source="k") == WHOLE


_NAMES = st.sampled_from(["a", "b", "c-1", "D.2"])
_NUMBERS = st.sets(st.integers(0, 9), min_size=1, max_size=4)
_RECORDS = st.dictionaries(st.tuples(_NAMES, _NAMES, _NAMES), _NUMBERS, min_size=1, max_size=6)
_INFOS = st.builds(
    OperatorInfo,
    hash=st.none() | st.integers(0, 3),
    dtypes=st.just(("Int8",)),
    opr_types=st.sets(st.sampled_from(["Concat", "Split", "Copy"])).map(tuple),
    elemwise_modes=st.sets(st.sampled_from(["ADD", "MUL"])).map(tuple),
)


@given(_RECORDS, st.none() | st.dictionaries(_NAMES, _INFOS))
def test_the_union_of_the_files_is_the_keep_set(
    records: dict[tuple[str, str, str], set[int]], infos: dict[str, OperatorInfo] | None
) -> None:
    needs = None
    if infos is not None:
        models = {model for model, _, _ in records}
        needs = merge([(model, info) for model, info in infos.items() if model in models])
    whole = keep(
        *(
            scenario(f"{model}/{name}@{cpu}", *(Region("tag", (number,)) for number in numbers))
            for (model, name, cpu), numbers in records.items()
        ),
        operators=needs,
    )
    texts = dump_folder(whole)

    assert parse_folder(dict(reversed(texts.items())), source="k") == whole


FUNCTIONS = scenario("n/s@c", functions=("main",), link_sha256="c" * 64)


@pytest.mark.parametrize(
    ("other", "said"),
    [
        # One branch moved to another engine, and the other added a scenario.
        (
            replace(WHOLE, generation=20190219),
            "found header generation 20190219, but 20220507 in m/s@c.json",
        ),
        (keep(FUNCTIONS, operators=SPLIT_NEEDS), "no region is needed by n/s@c"),
    ],
    ids=["two generations", "no regions"],
)
def test_files_that_do_not_fit_together_are_refused(other: keepset.KeepSet, said: str) -> None:
    texts = dump_folder(WHOLE) | {"n/s@c.json": dump_folder(other)["n/s@c.json"]}

    assert refused(texts) == f"megtrim/keepset/n/s@c.json: {said}"


def test_one_file_that_keeps_all_operators_keeps_all() -> None:
    texts = dump_folder(WHOLE) | dump_folder(keep(scenario("n/s@c", C)))

    assert parse_folder(texts, source="k").operators is None


@pytest.mark.parametrize("name", ["n/t@c", "n/s@d"])
def test_a_file_that_was_renamed_by_hand_is_refused(name: str) -> None:
    """Its name is what two branches would conflict about."""
    texts = dump_folder(WHOLE)
    texts[f"{name}.json"] = texts.pop("n/s@c.json")

    assert refused(texts) == (
        f"megtrim/keepset/{name}.json: found the scenario n/s@c, expected only {name}"
    )


def test_a_whole_keep_set_in_one_of_the_files_is_refused() -> None:
    assert "found the scenario m/t@c, expected only m/s@c" in refused(
        {"m/s@c.json": dump_keep_set(WHOLE)}
    )
    assert "found no scenario, expected m/s@c" in refused(
        {"m/s@c.json": dump_keep_set(keep(operators=SPLIT_NEEDS))}
    )


def test_a_command_has_no_model_in_its_file() -> None:
    whole = keep(ran("s@c", "main"))
    command = replace(whole, scenarios=(replace(whole.scenarios[0], model_sha256=""),))
    text = dump_keep_set(command)

    assert "model_sha256" not in text
    assert parse_folder(dump_folder(command), source="k") == command
    with pytest.raises(InputError, match="the key 'model_sha256' is missing"):
        parse_keep_set(text.replace("s@c", "m/s@c"), source="k.json")


@pytest.mark.parametrize("name", ["../../x/y@z", "m/s", "m/s/t@c", "m/.s@c", "m/s@c\n", "/m/s@c"])
def test_no_id_leads_out_of_the_folder(name: str) -> None:
    with pytest.raises(InputError, match="expected MODEL/SCENARIO@CLASS"):
        dump_folder(keep(scenario(name, A)))


def test_a_folder_is_read(tmp_path: Path) -> None:
    write(tmp_path, WHOLE)
    (tmp_path / "README.md").write_text("ours", encoding="utf-8")

    assert find_files(tmp_path) == FILES
    assert read_folder(tmp_path) == WHOLE


@pytest.mark.parametrize("name", ["keepset.json", "m/s.json", "m/n/s@c.json", "m/s@c (1).json"])
def test_a_strange_file_is_named(tmp_path: Path, name: str) -> None:
    """Left by an editor or a merge; no one knows what it is for."""
    write(tmp_path, WHOLE)
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / name).touch()

    said = f"megtrim/keepset: found {name!r}, expected only MODEL/SCENARIO@CLASS.json and"
    with pytest.raises(InputError, match=rf"^{re.escape(said)} NAME@CLASS.json(\n|$)"):
        read_folder(tmp_path, shown="megtrim/keepset")


def test_what_is_no_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "whole").write_text(dump_keep_set(WHOLE), encoding="utf-8")
    (tmp_path / "named.json").write_text(dump_keep_set(WHOLE), encoding="utf-8")
    (tmp_path / "circle").symlink_to("circle")

    assert find_files(tmp_path / "none") == ()
    for name in ("whole", "named"):
        with pytest.raises(InputError, match="found a keep set in one file") as caught:
            find_files(tmp_path / name)
        assert caught.value.hint == "remove it, and trace again: megtrim trim --accept"
    with pytest.raises(InputError, match="leads nowhere"):
        find_files(tmp_path / "circle")
    with pytest.raises(InputError, match="found no file of a keep set"):
        read_folder(tmp_path / "none")


def test_a_folder_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, WHOLE)
    monkeypatch.setattr(keepset_files, "MAX_TEXT", len(dump_folder(WHOLE)["m/s@c.json"]) + 10)
    with pytest.raises(InputError, match="found more than 10 bytes"):
        read_folder(tmp_path)

    monkeypatch.setattr(keepset_files, "MOST_FILES", 2)
    with pytest.raises(InputError, match="found 3 files, expected at most 2"):
        read_folder(tmp_path)
