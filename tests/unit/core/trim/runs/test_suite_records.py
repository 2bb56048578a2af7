"""What a keep set calls the tests of a project."""

import pytest

from megtrim.core.keep.keepset import KeepSet, ScenarioRecord
from megtrim.core.keep.keepset_files import dump_folder, parse_folder
from megtrim.core.trim.runs.suite_records import name_tests
from megtrim.places.compile.projects.tested import OwnTest


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["area"], ["area@tests"]),
        (["circle.3+", "-x", "a/b c"], ["circle.3@tests", "x@tests", "a-b-c@tests"]),
        (["sh ../tests/run.sh"], ["sh-..-tests-run.sh@tests"]),
        (["a b", "a  b", "a:b", "a-b-2"], [f"a-b{end}@tests" for end in ("", "-2", "-3", "-2-2")]),
        (["ü", "/", ""], ["test@tests", "test-2@tests", "test-3@tests"]),
        (["x" * 300], ["x" * 100 + "@tests"]),
    ],
)
def test_each_has_a_name_for_a_file_that_no_other_has(
    names: list[str], expected: list[str]
) -> None:
    found = [*name_tests(OwnTest(name=name, argv=("x",)) for name in names)]

    assert found == expected
    records = (
        ScenarioRecord(
            id=each,
            model_sha256="",
            arguments=("x",),
            inputs=(),
            algo_cache_sha256=None,
            threads=1,
            trace_sha256="0" * 64,
            regions=(),
            functions=("area",),
            link_sha256="1" * 64,
        )
        for each in found
    )
    keep = KeepSet(generation=20220507, scenarios=tuple(records), operators=None)
    texts = dump_folder(keep)
    assert {*parse_folder(texts, source="x").functions()["area"]} == {*found}
