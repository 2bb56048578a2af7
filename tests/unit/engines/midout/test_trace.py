import hashlib
import itertools
import json
import string
import time
from pathlib import Path
from typing import Any

import cxxfilt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.engines.midout import spelling
from megtrim.engines.midout.header import Layout, render
from megtrim.engines.midout.spelling import demangle, problem
from megtrim.engines.midout.trace import (
    MAX_TRACE_BYTES,
    check_trace,
    parse_announced_count,
    parse_trace,
    read_trace,
    regions_in_binary,
)
from megtrim.libs.util.errors import InputError, MegtrimError
from support.upstream import CASES, FACTS, enabled, facts, keep_set

DATA = Path(__file__).parents[3] / "data"
ANDROID = sorted(path.name for path in (DATA / "traces-android").glob("*.trace"))
COUNTS = {
    "mobilenet-int8.cached": 136,
    "mobilenet-int8.nchw44": 231,
    "mobilenet-int8.nchw44dot": 230,
    "mobilenet-int8.plain": 135,
    "mobilenet-s.nchw44": 161,
    "mobilenet-s.plain": 143,
    "resnet-int8.cached": 119,
    "resnet-int8.nchw44": 223,
    "resnet-int8.nchw44dot": 222,
    "resnet-int8.plain": 115,
    "resnet18-s.cached": 158,
    "resnet18-s.fastrun": 229,
    "resnet18-s.fullrun": 253,
    "resnet18-s.nchw44": 171,
    "resnet18-s.plain": 149,
}
MAGIC = b"midout_trace v1\n"
ONE = b"N6midout6RegionINS_4tags1xEJSt17integral_constantIiLi1EEEEE\n"
TWO = b"N6midout6RegionINS_4tags1xEJSt17integral_constantIiLi2EEEEE\n"
FLOAT = b"N6midout6RegionINS_4tags1xEJfN6engine1BEEEE\n"


def _names(data: bytes) -> list[str]:
    return [str(region) for region in parse_trace(data, source="t").regions]


@pytest.mark.parametrize("name", sorted(COUNTS))
def test_recorded_traces_hold_as_many_regions_as_the_runs_said(name: str) -> None:
    path = DATA / "traces" / f"{name}.trace"
    trace = read_trace(path)
    log = (DATA / "logs" / f"{name}.log").read_text(encoding="utf-8")

    assert len(trace.regions) == COUNTS[name]
    assert parse_announced_count(log) == COUNTS[name]
    assert trace.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert list(trace.regions) == sorted(set(trace.regions))


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("resnet-int8.plain", "megdnn_arm_common_conv_bias_int8"),
        ("resnet-int8.nchw44", "megdnn_arm_common_conv_bias_int8_nchw_nchw44"),
        ("resnet-int8.nchw44dot", "megdnn_arm_common_conv_bias_int8_nchw44_dot"),
        ("mobilenet-int8.plain", "megdnn_arm_common_conv_bias_int8"),
        ("mobilenet-int8.nchw44", "megdnn_arm_common_conv_bias_int8_nchw44_stride2"),
        ("mobilenet-int8.nchw44dot", "megdnn_arm_common_conv_bias_int8_nchw44_dot"),
    ],
)
def test_quantised_models_ran_convolutions_of_int8(name: str, tag: str) -> None:
    regions = read_trace(DATA / "traces" / f"{name}.trace").regions
    floats = read_trace(DATA / "traces" / "resnet18-s.nchw44.trace").regions

    assert tag in {region.tag for region in regions}
    assert tag not in {region.tag for region in floats}


@pytest.mark.parametrize("name", ANDROID)
def test_two_c_plus_plus_libraries_spell_the_same_regions(name: str) -> None:
    android = DATA / "traces-android" / name
    linux = DATA / "traces" / name

    assert android.read_bytes() != linux.read_bytes()
    assert read_trace(android).regions == read_trace(linux).regions


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("v", "void"),
        ("b", "bool"),
        ("c", "char"),
        ("a", "signed char"),
        ("w", "wchar_t"),
        ("h", "unsigned char"),
        ("Du", "char8_t"),
        ("Ds", "char16_t"),
        ("Di", "char32_t"),
        ("s", "short"),
        ("t", "unsigned short"),
        ("i", "int"),
        ("j", "unsigned int"),
        ("l", "long"),
        ("m", "unsigned long"),
        ("x", "long long"),
        ("y", "unsigned long long"),
        ("n", "__int128"),
        ("o", "unsigned __int128"),
        ("f", "float"),
        ("d", "double"),
        ("e", "long double"),
        ("g", "__float128"),
        ("Dh", "__fp16"),
    ],
)
def test_builtin_types(code: str, name: str) -> None:
    """Each has the name by which a header can be compiled: half is __fp16."""
    line = f"N6midout6RegionINS_4tags1xEJ{code}EEE\n"

    assert _names(MAGIC + line.encode()) == [f"x<{name}>"]


def test_a_small_trace_with_any_line_ends() -> None:
    data = MAGIC + FLOAT + TWO + ONE + TWO

    for text in (data, data.replace(b"\n", b"\r\n")):
        assert _names(text) == ["x<1>", "x<2>", "x<float, engine::B>"]


@pytest.mark.parametrize(
    ("data", "place", "said"),
    [
        (b"", "t:1", "found '', expected 'midout_trace v1'"),
        (b"midout_trace v2\n" + ONE, "t:1", "found 'midout_trace v2', expected"),
        (b"\xef\xbb\xbf" + MAGIC + ONE, "t:1", "expected 'midout_trace v1'"),
        (b"\x7fELF\x02\x01\x01\0\0\0", "t:1", "found '\\x7fELF"),
        (MAGIC, "t:1", "the trace contains no region"),
        (MAGIC + ONE[:-1], "t:2", "the last line may be truncated"),
        (MAGIC + ONE + TWO[:30], "t:3", "the last line may be truncated"),
        (MAGIC + ONE + b"\n", "t:3", "found '', expected the mangled name"),
        (MAGIC + ONE + b"int main() { return 0; }\n", "t:3", "found 'int main()"),
        (MAGIC + b'#include "x"\n', "t:2", "found '#include"),
        (MAGIC + ONE[:-1] + b" \n", "t:2", "expected the mangled name"),
        (MAGIC + ONE[:-1] + b"\0\n", "t:2", "expected the mangled name"),
        (MAGIC + ONE[:-1] + b"\r\r\n", "t:2", "expected the mangled name"),
        (MAGIC + ONE.replace(b"N6", b"_ZTSN6"), "t:2", "expected the mangled name"),
        (MAGIC + ONE[:-2] + b"\n", "t:2", "which is not a type,"),
        (MAGIC + ONE[:-1] + b"7on_usedEv\n", "t:2", "which is not a type,"),
        (MAGIC + ONE.replace(b"4tags", b"4tagz"), "t:2", "expected 'tags'"),
        (MAGIC + ONE.replace(b"1x", b"3for"), "t:2", "expected the name of a class"),
        (MAGIC + ONE.replace(b"Li1E", b"Li2147483648E"), "t:2", "expected a number of 32 bits"),
        (MAGIC + ONE.replace(b"IiLi1E", b"IlLl1E") + b"x\n", "t:3", "found 'x', expected"),
        (MAGIC + b"N6midout6RegionINS_4tags1xEJPfEEE\n", "t:2", "found '*"),
        (MAGIC + b"N6midout6RegionINS_4tags1xEJKfEEE\n", "t:2", "found 'const'"),
        (MAGIC + b"N6midout6RegionINS_4tags1xEJ3FooEEE\n", "t:2", "expected '::'"),
        (MAGIC + b"N6midout6RegionINS_4tags1xEJN1aUlvE_EEEE\n", "t:2", "is not a region"),
        (MAGIC + b"N6midout6RegionINS_4tags1xEJN12_GLOBAL__N_11BEEEE\n", "t:2", "is not a region"),
        (MAGIC + b"N6midout6RegionI" + b"S_" * 13 + b"\n", "t:2", "more than 12 back references"),
        (MAGIC + b"N6midout6RegionI" + b"a" * 4096 + b"\n", "t:2", "a name of 4112 characters"),
    ],
)
def test_what_is_no_trace_is_refused_with_file_and_line(data: bytes, place: str, said: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_trace(data, source="t")

    assert caught.value.message.startswith(f"{place}: ")
    assert said in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 600
    assert caught.value.hint


def test_a_trace_of_unreasonable_size_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine holds some thousands of regions; a file of millions is none of its traces."""
    with pytest.raises(InputError, match="found a larger file, expected a trace"):
        parse_trace(MAGIC + b"\n" * MAX_TRACE_BYTES, source="t")

    monkeypatch.setattr("megtrim.engines.midout.trace.MAX_REGIONS", 1)
    with pytest.raises(InputError, match="t: 2 regions, expected at most 1"):
        parse_trace(MAGIC + ONE + TWO, source="t")


def test_a_name_that_doubles_itself_is_bounded() -> None:
    """Back references within back references cannot make the demangler run away."""
    name = "N6midout6RegionINS_4tags1xEJN1a1bIiEE" + "".join(
        f"N1c1dIS{digit}_S{digit}_EE" for digit in string.digits
    )

    assert problem(f"{name}EEE") == "more than 12 back references in one name"
    start = time.monotonic()
    bounded = "N6midout6RegionINS_4tags1xEJ" + "".join(f"S{n}_" for n in "01234567890") + "EEE"
    assert problem(bounded) == ""
    demangle([bounded])
    assert time.monotonic() - start < 10


def test_distinct_names_are_demangled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = itertools.count()
    monkeypatch.setattr(spelling, "_demangle", lambda name: f"{name}{next(numbers)}")

    assert demangle(["a", "b", "a"]) == {"a": "a0", "b": "b1"}
    assert next(numbers) == 2


def test_a_machine_without_a_c_plus_plus_library_is_shown_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That is a missing tool, not a bad trace."""

    def fail(name: str) -> str:
        msg = "no such library"
        raise cxxfilt.LibraryNotFound(msg)

    monkeypatch.setattr(spelling, "_demangle", fail)

    with pytest.raises(InputError, match="no such library") as caught:
        parse_trace(MAGIC + ONE, source="t")
    assert "libstdc++6" in caught.value.hint


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.trace: cannot be read: No such file"):
        read_trace(tmp_path / "none.trace")


@given(st.binary(max_size=300))
def test_arbitrary_bytes_never_pass_and_never_crash(data: bytes) -> None:
    for candidate in (data, MAGIC + data + b"\n", MAGIC + b"N6midout6RegionI" + data + b"\n"):
        with pytest.raises(MegtrimError):
            parse_trace(candidate, source="t")


@given(st.text(alphabet="NIJEKPS_LTFZid0123456789nmabxfv", max_size=80))
def test_mangled_noise_gives_a_region_or_a_refusal(noise: str) -> None:
    data = MAGIC + f"N6midout6RegionINS_4tags1xE{noise}EE\n".encode()
    try:
        regions = parse_trace(data, source="t").regions
    except InputError:
        return

    assert [Region.parse(str(region)) for region in regions] == list(regions)


@pytest.mark.parametrize(
    ("stderr", "count"),
    [
        ("", None),
        ("midout: 149 items written to midout_trace.7\n", 149),
        ("a\r\nmidout: 0 items written to t\n", 0),
        ("midout: 1 items written to a\nmidout: 2 items written to b\n", 2),
        ("said midout: 5 items written to t\n", None),
        ("midout: 5 items\n", None),
    ],
)
def test_what_a_run_promised(stderr: str, count: int | None) -> None:
    assert parse_announced_count(stderr) == count


def test_a_kept_promise() -> None:
    regions = (Region("x", (1,)), Region("x", (2,)))

    assert check_trace(MAGIC + ONE + TWO, announced=2, source="t").regions == regions
    assert check_trace(MAGIC + ONE + ONE, announced=2, source="t").regions == regions[:1]


@pytest.mark.parametrize(
    ("data", "announced", "kind"),
    [
        (None, None, TraceProblem.MISSING),
        (None, 2, TraceProblem.MISSING),
        (b"", 2, TraceProblem.EMPTY),
        (b"\n", None, TraceProblem.EMPTY),
        (MAGIC, 0, TraceProblem.EMPTY),
        (MAGIC, 2, TraceProblem.EMPTY),
        (MAGIC + ONE, 2, TraceProblem.TRUNCATED),
        (MAGIC + ONE + TWO[:20], 2, TraceProblem.TRUNCATED),
        (MAGIC + ONE + TWO[:-1], 2, TraceProblem.TRUNCATED),
        (MAGIC + ONE + TWO, 1, TraceProblem.STALE),
        (MAGIC + ONE + TWO, None, TraceProblem.STALE),
    ],
)
def test_a_broken_promise_has_a_name(
    data: bytes | None, announced: int | None, kind: TraceProblem
) -> None:
    """Missing, empty, truncated and stale are failures of their own, never an empty keep set."""
    with pytest.raises(TraceFailure) as caught:
        check_trace(data, announced=announced, source="m/s@c")

    assert caught.value.problem is kind
    assert caught.value.message.startswith("m/s@c: ")
    assert caught.value.message.endswith(f"({kind.value} trace)")
    assert caught.value.exit_code == 1
    assert caught.value.hint


@pytest.mark.parametrize(
    ("data", "line"), [(MAGIC + b"rm -rf\n" + ONE, 2), (b"something else\n", 1)]
)
def test_bytes_that_are_no_trace_are_not_called_truncated(data: bytes, line: int) -> None:
    with pytest.raises(InputError, match=f"t:{line}: found"):
        check_trace(data, announced=2, source="t")


def test_regions_of_a_binary() -> None:
    names = [line[:-1] for line in (ONE, FLOAT, TWO, ONE)]
    junk = [b"N6midout6RegionINS_4tags1xEJ3Foo\0", b"N6midout6RegionI" + b"a" * 5000 + b"\0"]
    data = b"\x7fELF" + b"\0".join([*names, *junk]) + b"\0*" + names[0][:-1] + b"\0\xff"

    assert [str(r) for r in regions_in_binary(data)] == ["x<1>", "x<2>", "x<float, engine::B>"]
    assert regions_in_binary(names[0]) == ()
    assert regions_in_binary(b"") == ()


def test_regions_of_a_large_binary_are_found_fast() -> None:
    data = bytes(range(256)) * (60 * 4096) + ONE[:-1] + b"\0"
    start = time.monotonic()

    assert regions_in_binary(data) == (Region("x", (1,)),)
    assert time.monotonic() - start < 5


RECORDED: dict[str, Any] = json.loads(FACTS.read_text(encoding="utf-8"))
GENERATIONS = (20190219, 20220507)


def modes(generation: int) -> list[tuple[str, int]]:
    return [(name, value) for name, value in RECORDED[str(generation)]["all_modes"]]


@pytest.mark.parametrize("layout", Layout)
@pytest.mark.parametrize("generation", GENERATIONS)
@pytest.mark.parametrize("case", CASES)
def test_the_same_is_enabled(case: str, generation: int, layout: Layout) -> None:
    keep = keep_set(generation, CASES[case])
    header = render(keep, layout=layout, elemwise_modes=modes(generation))
    found = enabled(*(text for _, text in header.files))

    assert facts(found) == RECORDED[str(generation)]["headers"][case]
    assert found.generation == generation


@pytest.mark.parametrize("generation", GENERATIONS)
def test_every_mode_is_named(generation: int) -> None:
    """A mode that the header does not name would not compile; upstream names them all."""
    keep = keep_set(generation, CASES["merged all"])
    header = render(keep, layout=Layout.SCOPED, elemwise_modes=modes(generation))

    every = tuple(sorted(name for name, _ in modes(generation)))
    assert enabled(*(text for _, text in header.files)).all_modes == every


def test_the_facts_tell_cases_apart() -> None:
    """The recorded sets differ where they must, so that an equal answer means something."""
    newer = RECORDED["20220507"]["headers"]
    older = RECORDED["20190219"]["headers"]

    assert newer.keys() == older.keys() == CASES.keys()
    assert newer["trace traces/resnet18-s.plain.trace"]["regions"] == 149
    assert newer["trace traces/resnet18-s.fullrun.trace"]["regions"] == 253
    assert newer["merged all"]["regions"] == 482
    assert newer["json strip-info/resnet18-s.mge.json"]["regions"] is None
    hashes = newer["merged all"]["hashes"]
    assert hashes[:3] == [0, 4604778771088408961, 7773529745014738635]
    assert hashes[3:] == [10003196737847364806, 10078361748651523472]
    assert newer["merged all"]["modes"] == ["ADD", "FLOOR_DIV", "FUSE_ADD_RELU", "MUL", "RELU"]
    assert older["merged all"]["modes"] == ["ADD", "FUSE_ADD_RELU"]
    assert newer["merged json"]["modes"] is None
    assert older["merged json"]["modes"] == ["ADD", "FUSE_ADD_RELU"]
    assert older["merged linux"]["modes"] is None
