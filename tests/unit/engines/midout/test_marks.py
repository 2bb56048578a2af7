"""midout behind the protocols by which the core asks for marks."""

from pathlib import Path

import pytest

from megtrim.core.keep.marks import RegionMarks
from megtrim.core.keep.region import Region
from megtrim.core.keep.trace import TraceFailure, TraceProblem
from megtrim.engines.midout.header import FORCED, Scopes, macro_file, tag_file
from megtrim.engines.midout.marks import TRACES, Midout
from megtrim.libs.util.errors import ProductFailure
from unit.core.trim.stages.support import keep_set, trace

SCOPES = Scopes(tags=("kern",), macros=("MGB_BINREDUCE_GRAPH_HASHES",))
MODES = (("ADD", 1),)
MARKS: RegionMarks = Midout(
    modes=lambda: MODES,
    scopes=lambda: SCOPES,
    texts=lambda: [("a.cpp", "\nMIDOUT_DECL(kern)")],
)
TYPE = "N6midout6RegionIJNS_4tags4kernESt17integral_constantIiLi7EEEEE"
ONE = Region("kern", (7,))


@pytest.mark.parametrize(("layout", "own"), [("scoped", SCOPES), ("upstream", Scopes())])
def test_what_the_header_depends_on(layout: str, own: Scopes) -> None:
    assert MARKS.header_facts(layout) == {
        "elementwise modes": "(('ADD', 1),)",
        "files of their own": str(own),
    }


def test_the_scoped_layout_alone_has_files_of_its_own() -> None:
    scoped = MARKS.render_header(keep_set(1), layout="scoped", crash_ids=False)
    upstream = MARKS.render_header(keep_set(1), layout="upstream", crash_ids=False)

    assert {tag_file("kern"), macro_file("MGB_BINREDUCE_GRAPH_HASHES")} < scoped.keys()
    assert [*upstream] == [FORCED]
    assert scoped != MARKS.render_header(keep_set(1), layout="scoped", crash_ids=True)


def test_a_program_without_regions_is_not_the_profile_builds() -> None:
    assert MARKS.find_held(TYPE.encode() + b"\0", name="load_and_run") == (ONE,)
    with pytest.raises(
        ProductFailure, match="the profile build of load_and_run contains no midout"
    ):
        MARKS.find_held(b"", name="load_and_run")


def test_what_marks_a_region_in_a_program() -> None:
    marking = [f"_ZTI{TYPE}", f"_ZTS{TYPE}", f"_Z{TYPE[:-1]}7on_usedEv"]

    assert MARKS.find_marked([*marking, "main", f"_ZTV{TYPE}", "_ZTIN6midout6RegionINotOne"]) == (
        dict.fromkeys(marking, ONE)
    )


def test_a_trace_is_compared_with_what_the_run_said() -> None:
    said = "midout: 2 items written to trace.txt\n"

    assert MARKS.traces.check(trace(7, 1), said=said, source="t").regions[1] == ONE
    assert MARKS.traces.parse(trace(7), source="t").regions == (ONE,)
    with pytest.raises(TraceFailure) as caught:
        MARKS.traces.check(trace(7), said=said, source="t")
    assert caught.value.problem is TraceProblem.TRUNCATED


def test_names_are_read_from_the_sources() -> None:
    names = MARKS.read_names()

    assert names.tags == ("kern",)
    assert names.places(ONE) == (("a.cpp", 2),)
    assert names.meaning(ONE) == ""


@pytest.mark.parametrize("file", ["v8-reduced.log", "v8-reduced-trap.log"])
def test_a_graph_that_is_not_in_the_header_is_read_from_the_log(file: str) -> None:
    log = (Path(__file__).parents[3] / "data/logs" / file).read_text(encoding="utf-8")

    assert TRACES.find_unknown_graph(log) == "10003400899095033006"
    assert TRACES.find_unknown_graph("Graph (with hash x)") == ""
