import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.build_spec import Origin
from megtrim.size.baseline import dump_sizes, expect_same_kind, load_sizes, parse_sizes
from megtrim.size.budgets import Baseline
from megtrim.size.byte_table import ByteTable
from megtrim.size.growth.inputs import InputPrint
from megtrim.util.errors import InputError

SIZES = {("b", "reduced"): 2, ("b", "plain"): 9, ("a", "plain"): 0}
TEXT = """\
{
 "artifacts": {
  "a": {
   "plain": 0
  },
  "b": {
   "plain": 9,
   "reduced": 2
  }
 },
 "version": 2
}
"""


ORIGIN = Origin(
    project="camera",
    config="android/megtrim.yaml",
    commit="ab" * 20,
    committed_at="2027-01-31T12:00:00Z",
    changed=True,
    pull_request=7,
    megtrim="1.0.0",
)


SOURCE = "main at 1a2b3c4d5e6f, the merge base, stored 2 days ago"
UNKNOWN = Origin(project="camera", config="megtrim.yaml")


@pytest.mark.parametrize(
    ("sizes", "options", "keys", "expected"),
    [
        (SIZES, {}, {}, {"source": "f"}),
        (dict(reversed(SIZES.items())), {}, {}, {"source": "f"}),
        (SIZES, {"source": SOURCE}, {"source": SOURCE}, {"source": SOURCE}),
        (SIZES, {"source": "x" * 500}, {"source": "x" * 500}, {"source": "x" * 500}),
        ({}, {"source": SOURCE}, {"source": SOURCE, "artifacts": {}}, {"source": SOURCE}),
        (SIZES, {"quick": True}, {"quick": True}, {"source": "f", "quick": True}),
        (SIZES, {"origin": ORIGIN}, asdict(ORIGIN), {"source": "f", "origin": ORIGIN}),
        (
            SIZES,
            {"origin": UNKNOWN},
            {"project": "camera", "config": "megtrim.yaml"},
            {"source": "f", "origin": UNKNOWN},
        ),
    ],
)
def test_what_is_written_is_read_back(
    sizes: dict[tuple[str, str], int],
    options: dict[str, Any],
    keys: dict[str, object],
    expected: dict[str, Any],
) -> None:
    text = dump_sizes(Baseline(sizes=sizes, **options))

    assert text == TEXT or keys
    assert json.loads(text) == json.loads(TEXT) | keys
    assert parse_sizes(text, source="f") == Baseline(sizes=sizes, **expected)


def test_a_folder_of_any_name_has_sizes() -> None:
    text = dump_sizes(
        Baseline(sizes=SIZES, origin=replace(ORIGIN, project="a\nb\udc80", config="x" * 9_000))
    )

    assert json.loads(text)["project"] == "a?b?"
    assert parse_sizes(text, source="f").origin.config == "x" * 4096


def test_sizes_of_another_configuration_are_refused() -> None:
    """Its programs have the same names; outside of a repository nothing is known of that."""
    android = parse_sizes(dump_sizes(Baseline(sizes=SIZES, origin=ORIGIN)), source="f")
    anywhere = parse_sizes(
        dump_sizes(Baseline(sizes=SIZES, origin=replace(ORIGIN, commit=""))), source="f"
    )

    for config in ("", ORIGIN.config):
        assert expect_same_kind(android, quick=False, shown="f", config=config) is android
    linux = "linux/megtrim.yaml"
    assert expect_same_kind(anywhere, quick=False, shown="f", config=linux) is anywhere
    with pytest.raises(InputError) as caught:
        expect_same_kind(android, quick=False, shown="f", config=linux)
    assert caught.value.message == (
        "f: found sizes of the configuration android/megtrim.yaml, expected linux/megtrim.yaml"
    )


PARTS = {("b", "reduced"): ByteTable(least_bytes=64, components={"operators": {"f(…)": 1, "g": 1}})}


def test_parts_of_files_are_read_back() -> None:
    made_from = InputPrint(
        made_from={"source": "0a1b"},
        sources="abcde12345",
        kept={"region 0": "abcde"},
        scenarios={"m/default@any": "0a"},
        values={"setting trim.optimize": "size"},
    )
    text = dump_sizes(Baseline(sizes=SIZES, parts=PARTS, made_from=made_from))

    expected = Baseline(source="f", sizes=SIZES, parts=PARTS, made_from=made_from)
    assert parse_sizes(text, source="f") == expected
    assert json.loads(text)["parts"]["b"]["reduced"]["least_bytes"] == 64


@pytest.mark.parametrize("file", [("b", "plain"), ("c", "reduced")])
def test_parts_must_add_up_to_their_file(file: tuple[str, str]) -> None:
    text = dump_sizes(Baseline(sizes=SIZES, parts=PARTS))
    document = json.loads(text)
    document["parts"] = {file[0]: {file[1]: document["parts"]["b"]["reduced"]}}

    with pytest.raises(InputError, match="found bytes that do not add up to its size"):
        parse_sizes(json.dumps(document), source="f")


@pytest.mark.parametrize(
    ("quick", "said"),
    [
        (True, "a quick trim, expected those of a full one"),
        (False, "a full trim, expected those of a quick one"),
    ],
)
def test_a_quick_trim_is_compared_with_no_full_one(quick: bool, said: str) -> None:
    baseline = Baseline(source="main", sizes=SIZES, quick=quick)

    assert expect_same_kind(baseline, quick=quick, shown="sizes.json") is baseline
    with pytest.raises(InputError) as caught:
        expect_same_kind(baseline, quick=not quick, shown="sizes.json")

    assert caught.value.message == f"sizes.json: found sizes of {said}"
    assert caught.value.hint == "take the sizes.json of a run of the same kind"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"version": 1}, "version: found 1, expected 2"),
        ({"artifacts": {}}, "artifacts: found none, expected some, or a source that says why"),
        ({"artifacts": []}, "artifacts: found [], expected an object"),
        ({"artifacts": {"a": {}}, "source": "x"}, "artifacts.a: found {}, expected at least 1 en"),
        ({"artifacts": {"a": 1}}, "artifacts.a: found 1, expected an object"),
        ({"artifacts": {"a": {"plain": -1}}}, "artifacts.a.plain: found -1, expected 0 or more"),
        ({"artifacts": {"a": {"plain": 1.0}}}, "artifacts.a.plain: found 1.0, expected a whole "),
        ({"artifacts": {"a": {"plain": True}}}, "artifacts.a.plain: found True, expected a whol"),
        ({"quick": 1}, "quick: found 1, expected true or false"),
        ({"quik": True}, "quik: found True, expected no such key"),
        ({"source": 1}, "source: found 1, expected text"),
        ({"commit": "main"}, "commit: found 'main', expected a commit"),
        ({"config": "a\nb"}, "config: found a control character, expected one line"),
        ({"source": "a\nb"}, "source: found a control character, expected one line"),
        ({"source": "x" * 501}, f"source: found '{'x' * 59}…, expected at most 500 characters"),
    ],
)
def test_anything_else_is_refused(changes: dict[str, object], said: str) -> None:
    text = json.dumps(json.loads(TEXT) | changes)

    with pytest.raises(InputError) as caught:
        parse_sizes(text, source="sizes.json")

    assert caught.value.message.startswith(f"sizes.json:1: {said}")
    assert caught.value.hint == "take the sizes.json of a run of this version of megtrim"


def test_a_file_is_called_what_people_call_it(tmp_path: Path) -> None:
    path = tmp_path / "sizes.json"
    path.write_text(TEXT, encoding="utf-8")

    assert load_sizes(path, shown="base/sizes.json").source == "base/sizes.json"
    path.write_bytes(b"\xff")
    with pytest.raises(InputError) as caught:
        load_sizes(path, shown="base/sizes.json")
    assert caught.value.message == (
        "base/sizes.json:1: found the byte 0xff, which is not UTF-8, expected text"
    )
    with pytest.raises(InputError, match=r"^gone\.json: cannot be read: No such file"):
        load_sizes(tmp_path / "gone.json", shown="gone.json")


def test_a_file_without_end_is_not_read_to_its_end(tmp_path: Path) -> None:
    path = tmp_path / "sizes.json"
    path.write_bytes(b" " * (16 * 1024 * 1024 + 1) + TEXT.encode())

    with pytest.raises(InputError, match=r"^sizes\.json: found more than 16,777,216 bytes"):
        load_sizes(path, shown="sizes.json")


def test_a_size_that_stands_twice_is_refused() -> None:
    text = '{"version": 2, "artifacts": {"a": {"reduced": 1, "reduced": 999}}}'

    with pytest.raises(InputError, match="s:1: found a key twice in one object"):
        parse_sizes(text, source="s")
