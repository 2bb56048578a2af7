from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from megtrim.models.operators import OperatorInfo, merge
from megtrim.regions import keepset_files
from megtrim.regions.keepset import KeepSet
from megtrim.regions.keepset_files import (
    dump_folder,
    dump_keep_set,
    find_files,
    parse_folder,
    read_folder,
)
from megtrim.regions.region import Region
from megtrim.util.errors import InputError
from unit.regions.test_keepset import A, B, C, keep, scenario

FILES = ("m/s@c.json", "m/t@c.json", "n/s@c.json")
JOINS = OperatorInfo(hash=7, dtypes=("Int8",), opr_types=("Concat",), elemwise_modes=())
SPLITS = OperatorInfo(hash=7, dtypes=("Int8",), opr_types=("Split",), elemwise_modes=())
NEEDS = merge([("m", JOINS), ("n", SPLITS)])
WHOLE = keep(scenario("m/s@c", A), scenario("m/t@c", A, B), scenario("n/s@c", C), operators=NEEDS)


def refused(texts: dict[str, str]) -> str:
    with pytest.raises(InputError) as caught:
        parse_folder(texts, source="megtrim/keepset")
    return caught.value.message


def write(folder: Path, keep_set: KeepSet) -> None:
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
_RECORDS = st.dictionaries(
    st.tuples(_NAMES, _NAMES, _NAMES),
    st.sets(st.integers(0, 9), min_size=1, max_size=4),
    min_size=1,
    max_size=6,
)
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
        (keep(FUNCTIONS, operators=NEEDS), "no region is needed by n/s@c"),
    ],
    ids=["two generations", "no regions"],
)
def test_files_that_do_not_fit_together_are_refused(other: KeepSet, said: str) -> None:
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
        f"megtrim/keepset/{name}.json: found the scenario n/s@c, expected {name} alone"
    )


def test_a_whole_keep_set_in_one_of_the_files_is_refused() -> None:
    assert "found the scenario m/t@c, expected m/s@c alone" in refused(
        {"m/s@c.json": dump_keep_set(WHOLE)}
    )
    assert "found no scenario, expected m/s@c" in refused(
        {"m/s@c.json": dump_keep_set(keep(operators=NEEDS))}
    )


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

    with pytest.raises(InputError) as caught:
        read_folder(tmp_path, shown="megtrim/keepset")
    assert caught.value.message == (
        f"megtrim/keepset: found {name!r}, expected MODEL/SCENARIO@CLASS.json alone"
    )


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
