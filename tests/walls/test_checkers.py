import json
import sys
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def tree() -> Any:
    return check_changes.Tree(ROOT)


def test_every_module_has_tests_that_a_change_calls_for(tree: Any) -> None:
    modules = [path.relative_to(ROOT).as_posix() for path in (ROOT / "ci").rglob("*.py")]

    assert len(modules) > 300
    assert [module for module in modules if not tree.select_tests([module])] == []


@pytest.mark.parametrize(
    ("changed", "first"),
    [
        (
            "tests/unit/core/chain/test_result_store.py",
            "tests/unit/core/chain/test_result_store.py",
        ),
        ("ci/megtrim/core/size/budgets.py", "tests/unit/core/size/test_budgets.py"),
        ("ci/virtual_phone/supervisor.py", "tests/unit/virtual_phone/test_manager.py"),
        ("ci/megtrim/lab/cli/quarantine.py", "tests/unit/lab/cli/test_devices.py"),
        ("ci/megtrim/ship/cli/explain.py", "tests/unit/ship/cli/test_explain.py"),
        ("ci/megtrim/hosting/cli/github/image.py", "tests/unit/hosting/cli/github/test_image.py"),
    ],
)
def test_the_nearest_tests_come_first(tree: Any, changed: str, first: str) -> None:
    assert first in tree.select_tests([changed])[:4]


def test_a_changed_test_of_another_lane_calls_for_no_unit_test(tree: Any) -> None:
    assert tree.select_tests(["tests/integration/test_chain.py"]) == ()


VERBS = """
load = call_later("core.cli.load:load")

@click.command()
@do_later("core.cli.weigh:weigh")
def weigh() -> None: pass

@click.group()
def scales() -> None: pass

@scales.command("hang")
@do_later("core.cli.scale:hang")
def hang() -> None: pass
"""


@pytest.fixture
def small_tree(tmp_path: Path) -> Any:
    for name, text in {
        "ci/megtrim/libs/elf/symbols.py": "",
        "ci/megtrim/core/sizes.py": "from megtrim.libs.elf import (\n    objects,\n    symbols\n)",
        "ci/megtrim/core/cli/main.py": 'VERBS = {"weigh": "core.cli.verbs:weigh"}\n',
        "ci/megtrim/core/cli/verbs.py": VERBS,
        "ci/megtrim/core/cli/load.py": "",
        "ci/megtrim/core/cli/scale.py": "",
        "ci/megtrim/parts.py": 'PartVerb(name="scales", place="core.cli.verbs:scales", after="")',
        "ci/megtrim/core/cli/weigh.py": "from megtrim.core.sizes import weigh\n",
        "ci/megtrim/core/cli/fly.py": 'PAGE = "wings.j2"\n',
        "tests/unit/core/test_sizes.py": "",
        "tests/unit/core/test_shown.py": "def test(shell):\n    shell('weigh', '--all')\n",
        "tests/unit/core/test_scales.py": "def test(shell):\n    shell('scales', 'hang')\n",
        "tests/unit/core/test_far.py": "from unit.core.examples import EXAMPLE\n",
        "tests/unit/core/examples.py": "from megtrim.core import sizes\n",
        "tests/unit/libs/elf/test_objects.py": "from megtrim.libs.elf.objects import read\n",
        "tests/unit/libs/elf/test_symbols.py": "from megtrim.libs.elf.symbols import read\n",
        "tests/unit/times/test_times.py": "from unit.times.conftest import x\n",
        "tests/unit/times/conftest.py": "",
    }.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return check_changes.Tree(tmp_path)


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        (
            "ci/megtrim/libs/elf/symbols.py",
            "libs/elf/test_symbols core/test_sizes core/test_far core/test_shown",
        ),
        ("ci/megtrim/core/cli/weigh.py", "core/test_shown"),
        ("ci/megtrim/core/cli/scale.py", "core/test_scales"),
        ("ci/megtrim/core/cli/load.py", "core/test_scales core/test_shown"),
        ("tests/unit/core/examples.py", "core/test_far"),
        ("tests/unit/times/conftest.py", "times/test_times"),
        ("ci/megtrim/libs/elf/gone.py", "libs/elf/test_objects libs/elf/test_symbols"),
        (
            "ci/megtrim/core/feathers/wings.j2",
            "core/test_far core/test_scales core/test_shown core/test_sizes",
        ),
        ("README.md", ""),
    ],
)
def test_imports_are_followed_through_modules(small_tree: Any, changed: str, selected: str) -> None:
    """The nearest first; where none leads to a test, those of the nearest folder are taken."""
    expected = tuple(f"tests/unit/{name}.py" for name in selected.split())

    assert small_tree.select_tests([changed]) == expected


def test_no_test_begins_when_the_time_is_over(tmp_path: Path, processes: ProcessRunner) -> None:
    """What is left is named from the file that was not finished on; all have their fixtures."""
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "conftest.py").write_text(
        "import pytest\n@pytest.fixture\ndef ran(): return 'ran'\n", encoding="utf-8"
    )
    for name in ("one", "two", "three"):
        text = f"def test_{name}(ran): print(ran, '{name}')\n"
        (folder / f"test_{name}.py").write_text(text, encoding="utf-8")
    script_text = (
        "import sys, pytest\n"
        "from check_changes import Budget\n"
        "class Ticking(Budget):\n"
        "    asked = 0\n"
        "    def _is_over(self):\n"
        "        self.asked += 1\n"
        "        return self.asked > 5\n"
        "budget = Ticking(('inner/test_one.py', 'inner/test_two.py', 'inner/test_three.py'))\n"
        "status = pytest.main(['-q', '-s', '-p', 'no:cacheprovider'], plugins=[budget])\n"
        "print(int(status), *budget.left)\n"
    )
    command = Command(
        argv=(sys.executable, "-c", script_text),
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT / "scripts")},
        timeout_s=60,
    )
    printed = processes.run(command).stdout

    assert "ran one" in printed
    assert "ran two" in printed
    assert "ran three" not in printed
    assert printed.splitlines()[-1] == "0 inner/test_three.py"


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


def test_the_longest_files_are_there() -> None:
    """One that was renamed would else be left out without a message."""
    named = {f"tests/{name}" for name in (*LONGEST, *TOGETHER)}

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


def test_editors_find_modules_where_the_checkers_do() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
    code = json.loads((ROOT / ".vscode/settings.json").read_text(encoding="utf-8"))
    paths = project["pyright"]["extraPaths"]

    assert code["python.analysis.extraPaths"] == paths
    assert {*paths} == {*project["mypy"]["mypy_path"], *project["ruff"]["src"]}
    assert [path for path in paths if not (ROOT / path).is_dir()] == []


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
