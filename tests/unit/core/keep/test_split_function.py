"""Blocks of functions in a keep set."""

from dataclasses import replace

import pytest

from megtrim.core.keep.keepset import KeepSet, build_keep_set
from megtrim.core.keep.keepset_files import (
    dump_folder,
    dump_keep_set,
    parse_folder,
    parse_keep_set,
)
from megtrim.core.keep.split_function import SplitFunction
from megtrim.libs.util.errors import InputError
from unit.core.keep.test_keepset import scenario

ONE = "5e884898da280471"
LINK = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"


def split(text: str) -> SplitFunction:
    return SplitFunction.parse(text)


def keep(**blocks: tuple[str, ...]) -> KeepSet:
    records = (
        replace(
            scenario(f"{name}/default@any"),
            functions=("f", "g"),
            link_sha256=LINK,
            blocks=tuple(map(split, of)),
        )
        for name, of in blocks.items()
    )
    return build_keep_set(20220507, records, None)


BOTH = keep(a=(f"f {ONE} 0 3", f"g {ONE} 0"), b=(f"f {ONE} 0 3",))


def test_a_keep_set_with_blocks_is_read_as_it_was_written() -> None:
    text = dump_keep_set(BOTH)
    assert f' "blocks f {ONE} 0 3": ["a/default@any", "b/default@any"],\n' in text
    assert parse_keep_set(text, source="k") == BOTH
    assert parse_folder(dump_folder(BOTH), source="k") == BOTH


def test_a_keep_set_of_the_former_form_has_no_blocks() -> None:
    former = keep(a=())
    assert "blocks" not in dump_keep_set(former)
    assert parse_keep_set(dump_keep_set(former), source="k").scenarios[0].blocks == ()


def test_lines_of_two_records_of_a_scenario_merge() -> None:
    first = dump_keep_set(keep(a=(f"f {ONE} 0 3",)))
    line = f' "blocks f {ONE} 0 5": ["a/default@any"],\n'
    merged = parse_keep_set(first.replace(' "": "end"', f'{line} "": "end"'), source="k")
    assert [str(each) for each in merged.scenarios[0].blocks] == [f"f {ONE} 0 3", f"f {ONE} 0 5"]


@pytest.mark.parametrize(
    ("key", "users", "said"),
    [
        (f"f {ONE}", '["a/default@any"]', "k:6: found 'f "),
        (f"f {ONE} 3 0", '["a/default@any"]', "k:6: the blocks of 'f' do not ascend"),
        (f"f;g {ONE} 0", '["a/default@any"]', "k:6: found 'f;g"),
        ("f 5E88 0", '["a/default@any"]', "k:6: found 'f 5E88"),
        (f"f {ONE} 0", "[]", "k:6: no scenario needs f"),
        (f"f {ONE} 0", '["other@any"]', "k:6: a list of blocks is needed by 'other@any'"),
    ],
)
def test_other_blocks_are_refused_with_their_line(key: str, users: str, said: str) -> None:
    lines = dump_keep_set(keep(a=())).splitlines(keepends=True)
    lines.insert(5, f' "blocks {key}": {users},\n')
    with pytest.raises(InputError) as refused:
        parse_keep_set("".join(lines), source="k")
    assert said in refused.value.message
