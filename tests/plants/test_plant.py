"""Plants are read from files, applied exactly once, and leave nothing behind."""

import importlib.util
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.libs.util.process import Command, ProcessRunner
from plants.plant import ROOT, Misfit, Plant, load_plants, planted, replace_once, select
from plants.trial import Fate, Result, Settings, encode, passes, summarize, try_plants
from support.clock import until

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


def test_a_file_that_is_not_there_or_is_not_python(tmp_path: Path) -> None:
    with pytest.raises(Misfit, match="0 times"), planted(PLANT, tmp_path):
        pass

    assert not list(tmp_path.iterdir())
    plant = replace(PLANT, file="sums.sh", old="&&", new=";")
    assert replace_once(plant, "true && true (\n") == "true ; true (\n"


TRIED = replace(PLANT, file="ci/sums.py", tests=("tests/test_sums.py",))
TESTS = """\
from sums import add, double

def test_add():
    assert add(1, 2) == 3

def test_double():
    double(2)
"""


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    for name, text in (
        ("ci/sums.py", "def add(a, b):\n    return a + b\n\ndef double(a):\n    return a * 2\n"),
        ("tests/test_sums.py", TESTS),
        ("tests/test_wrong.py", "def test_wrong():\n    assert False\n"),
        ("tests/test_slow.py", "import sums, time\ndef test():\n    time.sleep(sums.add(0, 0))\n"),
    ):
        path = tmp_path / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Settings(processes=ProcessRunner(os.environ), timeout_s=60.0, root=tmp_path / "tree")


def fates(settings: Settings, *plants: Plant, jobs: int = 1) -> dict[str, tuple[Fate, str]]:
    reported: list[Result] = []
    results = try_plants(plants, settings, jobs=jobs, tell=reported.append)
    assert sorted(reported, key=lambda each: each.name) == list(results)
    return {each.name: (each.fate, each.text) for each in results}


def test_each_comes_to_its_own_fate(settings: Settings) -> None:
    before = (settings.root / TRIED.file).read_bytes()
    survivor = replace(TRIED, name="sums/triple", defect="It triples.", old="a * 2", new="a * 3")
    misfit = replace(TRIED, name="sums/none", old="a / 2")

    assert fates(settings, TRIED, survivor, misfit, jobs=2) == {
        "sums/minus": (Fate.KILLED, "tests/test_sums.py::test_add"),
        "sums/none": (Fate.MISFIT, "ci/sums.py: found the old text 0 times, expected it once"),
        "sums/triple": (Fate.SURVIVED, "It triples."),
    }
    assert (settings.root / TRIED.file).read_bytes() == before


def test_tests_that_fail_anyway_say_nothing(settings: Settings) -> None:
    """They would fail with the plant as well: that does not count as killed. Others still tell."""
    wrong = replace(TRIED, name="sums/wrong", tests=("tests/test_wrong.py",))

    assert fates(settings, wrong, TRIED) == {
        "sums/minus": (Fate.KILLED, "tests/test_sums.py::test_add"),
        "sums/wrong": (Fate.VOID, "fails without it, too: tests/test_wrong.py::test_wrong"),
    }


def test_tests_that_are_not_there_say_nothing(settings: Settings) -> None:
    plant = replace(TRIED, tests=("tests/test_sums.py::test_gone",))
    fate, text = fates(settings, plant)[TRIED.name]

    assert fate is Fate.VOID
    assert text.startswith("tests do not run without any plant: pytest ended with 4: ERROR: not f")


def test_a_module_that_cannot_be_read_says_nothing(settings: Settings) -> None:
    """No one would commit a defect that no test file survives."""
    plant = replace(TRIED, old="def add", new="raise ValueError\ndef add")

    assert fates(settings, plant) == {
        plant.name: (Fate.VOID, "pytest ended with 2: ERROR tests/test_sums.py - ValueError")
    }


def test_tests_that_do_not_end_say_nothing(settings: Settings) -> None:
    """A machine may be slow: what takes too long is not taken for noticed."""
    plant = replace(TRIED, new="60", tests=("tests/test_slow.py",))

    found = fates(replace(settings, timeout_s=5.0), plant)

    assert found == {plant.name: (Fate.VOID, "its tests did not end within 5 s")}


def test_what_passes() -> None:
    """All must be tried, and of a hundred three may survive."""
    killed = [Result(name=f"r/{number}", fate=Fate.KILLED, text="t") for number in range(97)]
    survivor, misfit, void = (
        Result(name=f"r/{fate}", fate=fate, text="What is wrong.")
        for fate in (Fate.SURVIVED, Fate.MISFIT, Fate.VOID)
    )

    assert passes([*killed, *[survivor] * 3])
    for more in ([survivor] * 4, [misfit], [void]):
        assert not passes([*killed, *more])


def test_what_is_said() -> None:
    results = [
        Result(name="r/a", fate=Fate.KILLED, text="t.py::test"),
        Result(name="r/b", fate=Fate.SURVIVED, text="It subtracts."),
    ]

    assert list(summarize(results)) == [
        "r/b: survived: It subtracts.",
        "plants: 2, killed: 1, survived: 1; 50.0% killed, expected 97%",
    ]
    assert json.loads(json.dumps(encode(results))) == {
        "version": 1,
        "passes": False,
        "plants": [
            {"name": "r/a", "fate": "killed", "text": "t.py::test"},
            {"name": "r/b", "fate": "survived", "text": "It subtracts."},
        ],
    }


def test_an_interrupt_leaves_nothing(tmp_path: Path) -> None:
    script = f'echo $$ >pid; exec "{sys.executable}" -m plants models'

    def interrupt() -> None:
        until(lambda: list(tmp_path.glob("megtrim-plants-*")), "a copy")
        os.kill(int((tmp_path / "pid").read_text("utf-8")), signal.SIGINT)

    env = {"TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT / "tests")}
    with ThreadPoolExecutor(1) as pool:
        sent = pool.submit(interrupt)
        command = Command(argv=("sh", "-c", script), cwd=tmp_path, env=env, timeout_s=120.0)
        outcome = ProcessRunner(os.environ).run(command)
        sent.result()

    assert (outcome.rc, outcome.stdout) == (130, "")
    assert not list(tmp_path.glob("megtrim-plants-*"))
