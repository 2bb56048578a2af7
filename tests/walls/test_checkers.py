import sys
from collections import Counter
from pathlib import Path

import pytest

from conftest import LANES, LONGEST, TOGETHER
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, ProcessRunner
from support import weight
from support.megtrim_cli import ROOT
from support.starts import find_excess, read_held
from support.tally.sitecustomize import STARTS, classify
from workflows.documents import script

check_changes = script("check_changes")
WALLS = {f"tests/walls/test_{wall}.py" for wall in check_changes.WALLS}


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        (
            "tests/unit/core/chain/test_result_store.py",
            {"tests/unit/core/chain/test_result_store.py"},
        ),
        ("ci/megtrim/no_such_room/module.py", set()),
        ("tests/integration/test_chain.py", set()),
        ("README.md", set()),
    ],
)
def test_a_file_calls_for_the_tests_that_mirror_it(changed: str, selected: set[str]) -> None:
    assert set(check_changes.select_tests([changed], ROOT)) == WALLS | selected


def test_a_module_calls_for_the_tests_that_import_it(tmp_path: Path) -> None:
    for name, text in {
        "a/test_one.py": "from megtrim.libs.elf import symbols",
        "b/test_two.py": "from megtrim.libs.elf.symbols import read",
        "c/test_three.py": "from megtrim.libs.elf import objects",
        "libs/elf/test_symbols.py": "",
    }.items():
        path = tmp_path / "tests" / "unit" / name
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")

    selected = check_changes.select_tests(["ci/megtrim/libs/elf/symbols.py"], tmp_path)
    assert selected == tuple(
        f"tests/unit/{name}.py" for name in ("a/test_one", "b/test_two", "libs/elf/test_symbols")
    )


def test_changes_are_edits_and_new_files(tmp_path: Path, processes: ProcessRunner) -> None:
    def git(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        assert processes.run(Command(argv=("git", *who, *words), cwd=tmp_path, timeout_s=60)).ok

    for name in ("same", "edited", ".gitignore"):
        (tmp_path / name).write_text("ignored\n", encoding="utf-8")
    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "First")
    (tmp_path / "edited").write_text("edited\n", encoding="utf-8")
    for name in ("new", "ignored"):
        (tmp_path / name).touch()

    assert check_changes.find_changes("HEAD", tmp_path, processes) == ("edited", "new")
    with pytest.raises(InputError, match="elsewhere is not a commit of"):
        check_changes.find_changes("elsewhere", tmp_path, processes)


def test_walls_and_the_longest_files_are_there() -> None:
    """One that was renamed would else be left out without a message."""
    named = {*WALLS, *(f"tests/{name}" for name in (*LONGEST, *TOGETHER))}

    assert {name for name in named if not (ROOT / name).exists()} == set()
    assert len(set(LONGEST)) == len(LONGEST)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("megtrim trim", "megtrim"),
        ("/a/.venv/bin/megtrim ci gate", "megtrim"),
        ("/usr/bin/python3.11 -X importtime -m megtrim --version", "megtrim"),
        ("/usr/bin/python3 -m megtrim_other", None),
        ("/tools/act push --json", "act"),
        ("/a/bin/cmake -G Ninja -S src -B build", "engine"),
        ("docker exec x /a/bin/cmake -G Ninja -S src -B build", "engine"),
        ("bash /src/scripts/cmake-build/cross_build_android_arm_inference.sh -r", "engine"),
        ("/a/bin/cmake --version", None),
        ("/usr/bin/docker build --tag x .", "image"),
        ("mmdebstrap --variant=apt bookworm root.tar", "image"),
        ("docker run x", None),
    ],
)
def test_what_counts_as_a_start(line: str, expected: str | None) -> None:
    assert classify(line.split()) == expected


def test_a_lane_that_starts_more_than_is_held_is_named() -> None:
    held = {"act": {"megtrim": 2}}

    assert find_excess({"act": Counter(megtrim=2, image=9), "unit": Counter(act=9)}, held) == []
    (message,) = find_excess({"act": Counter(megtrim=3)}, held)
    assert message.startswith("act starts megtrim 3 times, 1 more than tests/walls/weight.toml")


def test_what_is_held_is_counted_and_what_is_counted_held() -> None:
    """A number of a lane or a start of another name would hold nothing."""
    assert weight.count_suppressions([]).keys() == HELD.keys()
    assert read_held().keys() <= LANES.keys()
    assert {what for counts in read_held().values() for what in counts} <= STARTS.keys()


BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "argv",
    [
        ("ruff", "check"),
        ("ruff", "format", "--check"),
        ("mypy", "benchmarks", "ci", "noxfile.py", "scripts", "tests"),
        ("lint-imports",),
    ],
    ids=" ".join,
)
def test_checker_is_clean(argv: tuple[str, ...], processes: ProcessRunner) -> None:
    command = Command(argv=(str(BIN / argv[0]), *argv[1:]), cwd=ROOT, timeout_s=600)
    outcome = processes.run(command)

    assert outcome.rc == 0, outcome.stdout + outcome.stderr


HELD = weight.read_held()


@pytest.fixture(scope="module")
def suppressions() -> dict[str, int]:
    modules = weight.read_modules()
    if modules is None:
        pytest.skip("this is no git checkout: which files count is not known")
    return weight.count_suppressions(modules)


@pytest.mark.parametrize("what", HELD)
def test_no_more_checks_are_suppressed_than_before(what: str, suppressions: dict[str, int]) -> None:
    above = suppressions[what] - HELD[what]

    assert above <= 0, (
        f"{what}: {suppressions[what]}, {above} more than tests/walls/weight.toml holds. "
        "Satisfy the check, or raise the number in a commit that says for what."
    )


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"a = 1  # {'noqa'}: E1", "noqa"),
        (f"a = 1  # {'type'}: ignore[x]", "type: ignore"),
        (f"# {'fmt'}: off", "fmt: skip"),
    ],
)
def test_what_counts_as_a_suppression(line: str, expected: str) -> None:
    counted = weight.count_suppressions([line])

    assert [name for name, number in counted.items() if number] == [expected]
