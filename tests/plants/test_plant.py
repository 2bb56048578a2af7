"""Plants are read from files, applied exactly once, and leave nothing behind."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest

from plants.plant import Misfit, Plant, load_plants, planted, replace_once, select

PLANT = Plant(
    name="sums/minus",
    defect="It subtracts.",
    file="sums.py",
    old="a + b",
    new="a - b",
    tests=("test_sums.py",),
)
SOUND = "def add(a: int, b: int) -> int:\n    return a + b\n"


def test_a_file_of_plants(tmp_path: Path) -> None:
    row = 'defect = "It is wrong."\nfile = "a.py"\nold = "1"\nnew = "2"\ntests = ["t.py", "u.py"]\n'
    (tmp_path / "b.toml").write_text(f"[two]\n{row}[one]\n{row}", encoding="utf-8")
    (tmp_path / "a.toml").write_text(f"[three]\n{row}", encoding="utf-8")

    plants = load_plants(tmp_path)

    assert [plant.name for plant in plants] == ["a/three", "b/one", "b/two"]
    assert plants[0].tests == ("t.py", "u.py")


def test_plants_are_chosen_by_room_or_name() -> None:
    plants = [replace(PLANT, name=name) for name in ("a/x", "a/y", "ab/x")]

    assert [plant.name for plant in select(plants, ["a"])] == ["a/x", "a/y"]
    assert [plant.name for plant in select(plants, ["ab/x", "a/y"])] == ["a/y", "ab/x"]
    assert select(plants, []) == tuple(plants)
    with pytest.raises(KeyError, match="'b'"):
        select(plants, ["a", "b"])


def test_planted_until_the_block_is_left(tmp_path: Path) -> None:
    file = tmp_path / "sums.py"
    file.write_text(SOUND, encoding="utf-8")

    with pytest.raises(ZeroDivisionError), planted(PLANT, tmp_path):
        assert file.read_text(encoding="utf-8") == SOUND.replace("a + b", "a - b")
        raise ZeroDivisionError

    assert file.read_text(encoding="utf-8") == SOUND


def test_compiled_code_from_earlier_is_not_used(tmp_path: Path) -> None:
    """A defect may have the size of what it replaces, and the second in which that was written."""
    file = tmp_path / "sums.py"
    file.write_text(SOUND, encoding="utf-8")
    compiled = Path(importlib.util.cache_from_source(str(file)))
    compiled.parent.mkdir()

    compiled.write_bytes(b"of the sound text")
    with planted(PLANT, tmp_path):
        assert not compiled.exists()
        compiled.write_bytes(b"of the defect")
    assert not compiled.exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("a * b", "a - b", "sums.py: found the old text 0 times, expected it once"),
        ("int", "str", "sums.py: found the old text 3 times, expected it once"),
        ("a + b", "a + b", "sums.py: the new text is the old one"),
        ("a + b", "a +", "sums.py: no Python any more: line 2: invalid syntax"),
    ],
)
def test_plants_that_do_not_apply(tmp_path: Path, old: str, new: str, message: str) -> None:
    (tmp_path / "sums.py").write_text(SOUND, encoding="utf-8")

    with pytest.raises(Misfit) as caught, planted(replace(PLANT, old=old, new=new), tmp_path):
        pass

    assert str(caught.value) == message
    assert (tmp_path / "sums.py").read_text(encoding="utf-8") == SOUND


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(Misfit, match="0 times"), planted(PLANT, tmp_path):
        pass

    assert not list(tmp_path.iterdir())


def test_other_files_need_not_be_python() -> None:
    plant = replace(PLANT, file="sums.sh", old="&&", new=";")

    assert replace_once(plant, "true && true (\n") == "true ; true (\n"
