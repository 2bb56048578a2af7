import ast
import os
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import fnmatch
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from megtrim.libs.util import errors
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "ci"
PACKAGE = SOURCES / "megtrim"
PHONE = SOURCES / "virtual_phone"
MODULES = sorted([*PACKAGE.rglob("*.py"), *PHONE.rglob("*.py")])
ACTING = (
    "__main__",
    "core/stages",
    "core/cli/*",
    "core/project",
    "engines/cmake",
    "engines/link",
    "engines/ncnn",
    "engines/sample",
    "engines/megengine/engine",
    "engines/megengine/generations",
    "engines/options",
    "engines/source_texts",
    "hosting/against",
    "hosting/caller_workflows",
    "hosting/cli/*",
    "hosting/github/*",
    "core/cli/session/origin",
    "lab/cli/*",
    "lab/jobs/*",
    "lab/pool/*",
    "places/compile/*",
    "places/devices/*",
    "*/stage",
    "libs/history/branch",
    "libs/history/folder",
    "core/chain/cleanup",
    "core/chain/final",
    "core/chain/gitignore",
    "core/chain/result_store",
    "core/chain/session",
    "core/size/aar_format",
    "ship/cli/*",
    "ship/crashes/trimmed_programs",
    "times/cli/*",
    "times/measuring/*",
    "times/outcomes",
    "times/neighbours/requests",
    "core/proof/deferral",
    "core/proof/own_tests",
    "core/proof/scenario_results",
    "core/proof/trap_diagnosis",
    "core/proof/verification",
    "ship/release/archive",
    "ship/release/aar",
    "ship/release/check",
    "ship/release/collect",
    "ship/release/feature",
    "ship/release/prove",
    "core/size/aar",
    "core/size/byte_tables",
    "core/size/passes",
    "core/size/growth/build_inputs",
    "core/size/pricing",
    "core/size/results",
    "core/trim/builds/*",
    "core/trim/committed_keepset",
    "core/trim/keepset_usage",
    "core/trim/runs/*",
    "core/trim/stages/*",
    "libs/util/console",
    "libs/util/files",
    "libs/util/git_reading",
    "libs/util/owned_folders",
    "libs/util/input_files",
    "libs/util/process",
)
"""Modules that act, or that read what others left in the store; all others decide."""
WORLDLY = {
    "subprocess",
    "socket",
    "shutil",
    "tempfile",
    "time",
    "random",
    "logging",
    "urllib",
    "requests",
    "threading",
    "os",
    "signal",
    "platform",
    "filelock",
    "click",
}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _is_acting(module: str) -> bool:
    return any(fnmatch(f"{module}/", f"{acts.removesuffix('/*')}/*") for acts in ACTING)


def _is_pure(path: Path) -> bool:
    name = _id(path).removesuffix(".py").removesuffix("/__init__")
    return path.is_relative_to(PACKAGE) and not _is_acting(name)


def _touches_the_world(name: str) -> bool:
    """Return whether this import is one, or a module that acts; anyone may read a file safely."""
    if name.startswith("megtrim."):
        return _is_acting("/".join(name.split(".")[1:])) and "input_files" not in name
    return name.partition(".")[0] in WORLDLY and not name.startswith("urllib.parse")


def _id(path: Path) -> str:
    return str(path.relative_to(PACKAGE if path.is_relative_to(PACKAGE) else SOURCES))


def test_modules_that_decide_do_not_touch_the_world() -> None:
    pure = [path for path in MODULES if _is_pure(path)]

    assert len(pure) > 100
    assert [
        f"{_id(path)} imports {name}"
        for path in pure
        for name in _imports(path)
        if _touches_the_world(name)
    ] == []


_POSSESSIVE = r"\)(?:[*+?]|\{[0-9,]+\})\+"
FOUND_IN = {
    # One module starts programs.
    r"^\s*(?:import|from) subprocess\b": {"libs/util/process.py"},
    # A low layer that exits takes the decision from everybody above it. The first process of a
    # namespace is forked: if it returned, it would go on as its parent.
    r"\b(?:sys\.exit|os\._exit|SystemExit)\b": {
        "__main__.py",
        "core/cli/main.py",
        # A program of its own, which a build starts in place of its compiler.
        "places/compile/projects/recorded/wrapper.py",
        # Another one, which runs a test and ends as it does.
        "places/compile/projects/watcher.py",
        "virtual_phone/system/boot.py",
    },
    # The environment is read once, at the edge, into a value.
    r"\bos\.(?:environ|getenv)\b": {
        "core/cli/clock.py",
        "core/cli/environment.py",
        "places/compile/projects/recorded/wrapper.py",
        "virtual_phone/cli.py",
    },
    # A command is a list of words; nothing is ever pasted into a shell.
    r"shell\s*=\s*True|os\.system|os\.popen": set[str](),
    # Python 3.11.2, which Debian 12 has, matches such groups with alternatives wrongly.
    _POSSESSIVE: set[str](),
}


@pytest.mark.parametrize("pattern", FOUND_IN)
def test_text_is_found_only_where_it_may_be(pattern: str) -> None:
    word = re.compile(pattern, re.MULTILINE)
    found = {_id(path) for path in MODULES if word.search(path.read_text(encoding="utf-8"))}

    assert re.search(_POSSESSIVE, r"(?:a|b)*+")
    assert found == FOUND_IN[pattern]


def _shared(paths: Iterable[Path]) -> set[str]:
    names = (name.split(".") for path in paths for name in _imports(path))
    return {".".join(name[:4]) for name in names if name[0] == "megtrim" and len(name) > 3}


def test_the_virtual_phone_shares_two_modules_with_megtrim() -> None:
    """One way to start programs and to fail; its image needs little more than Python."""
    assert _shared(PHONE.rglob("*.py")) == {"megtrim.libs.util.errors", "megtrim.libs.util.process"}


@pytest.mark.parametrize(
    "planted",
    [
        "import megtrim.core.chain.result_store",
        "from megtrim.core.chain import result_store",
        "from megtrim.core.chain.result_store import x",
    ],
)
def test_another_shared_module_is_seen(planted: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(planted, encoding="utf-8")

    assert _shared([tmp_path / "module.py"]) == {"megtrim.core.chain.result_store"}


def test_modules_are_small() -> None:
    lengths = {_id(path): path.read_text(encoding="utf-8").count("\n") for path in MODULES}

    assert {name: length for name, length in lengths.items() if length > 500} == {}


def test_functions_are_small() -> None:
    lengths = {
        f"{_id(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert len(lengths) > 1000
    assert {name: length for name, length in lengths.items() if length > 80} == {}


@pytest.mark.parametrize("key", ["known_hosts", "cool_down"])
def test_a_key_of_devices_is_named_in_few_places(key: str) -> None:
    """The model of settings, and who obeys it: a new key touches three modules of two packages."""
    word = re.compile(rf"\b{key}\b")
    found = {_id(path) for path in MODULES if word.search(path.read_text(encoding="utf-8"))}

    assert 1 < len(found) <= 3
    assert {"/".join(name.split("/")[:2]) for name in found} == {"core/config", "places/devices"}


def test_folders_are_small() -> None:
    folders = Counter(_id(path.parent) for path in MODULES)

    assert {name: count for name, count in folders.items() if count > 25} == {}


def _small_with_one_user(modules: Iterable[Path]) -> set[str]:
    """Return the small modules of megtrim that one module imports; verbs are named in text."""
    every = {f"megtrim.{'.'.join(Path(_id(each)).with_suffix('').parts)}": each for each in MODULES}
    users = Counter[Path]()
    for module in modules:
        text = module.read_text(encoding="utf-8")
        imported = {every[name] for name in _imports(module) if name in every}
        users.update(imported | {each for name, each in every.items() if f'"{name}:' in text})
    small = (each for each, count in users.items() if count == 1)
    return {_id(each) for each in small if each.read_text(encoding="utf-8").count("\n") < 40}


def test_few_small_modules_have_one_user() -> None:
    """One of them is a page to open for what could stand where it is used.

    Verbs, stages and toolchains are modules of their own however small: each is a line elsewhere.
    """
    listed = ("core/cli/", "places/compile/toolchains/", "core/trim/stages/")
    found = {each for each in _small_with_one_user(MODULES) if not each.startswith(listed)}

    assert len({each for each in found if not each.endswith("/stage.py")}) <= 5


def test_a_small_module_with_one_user_is_seen(tmp_path: Path) -> None:
    (tmp_path / "one.py").write_text(
        "from megtrim.places.compile.toolchains import host\n", encoding="utf-8"
    )
    (tmp_path / "verb.py").write_text('X = "megtrim.libs.util.value:Value"\n', encoding="utf-8")

    found = _small_with_one_user([tmp_path / "one.py", tmp_path / "verb.py"])
    assert found == {"places/compile/toolchains/host.py", "libs/util/value.py"}
    assert _small_with_one_user([tmp_path / "one.py", tmp_path / "one.py"]) == set()


def test_a_class_has_its_name_alone() -> None:
    names = Counter(
        node.name
        for path in MODULES
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    )

    assert {name for name, count in names.items() if count > 1} == set()


FROM_ELSEWHERE = {"Variable", "InputsDocument", "InputPrint"}
"""Values of documents that the engine or another run wrote."""


def _list_fields(path: Path) -> Iterator[tuple[str, frozenset[str]]]:
    for node in _tree(path).body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield (
                node.name,
                frozenset(
                    field.target.id
                    for field in node.body
                    if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
                ),
            )


def test_a_fact_is_held_by_one_class() -> None:
    """Two classes that share most of their fields are one; an engine is a protocol's."""
    engines = {"engines", "projects"}
    modules = [path for path in MODULES if path.parent.name not in engines]
    classes = [each for path in modules for each in _list_fields(path) if len(each[1]) >= 3]
    pairs = {
        (one, other)
        for (one, fields), (other, others) in combinations(sorted(classes), 2)
        if len(fields & others) >= 0.7 * len(fields | others)
    }

    assert [pair for pair in pairs if not FROM_ELSEWHERE & {*pair}] == []


def test_files_that_the_architecture_names_are_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_/]+\.py)`", text))

    assert len(named) > 20
    assert {name for name in named if not (PACKAGE / name).exists()} == set()


def test_every_module_says_what_it_is() -> None:
    assert [_id(path) for path in MODULES if not ast.get_docstring(_tree(path))] == []


def test_exit_statuses_are_unique() -> None:
    kinds = errors.MegtrimError.__subclasses__()
    codes = [kind.exit_code for kind in kinds]

    assert sorted(codes) == [1, 2, 3, 70, 130]


def lint_imports(root: Path) -> CompletedCommand:
    linter = str(Path(sys.executable).parent / "lint-imports")
    # Wide, or the name of a contract is broken into two lines.
    env = {**os.environ, "PYTHONPATH": str(root / "ci"), "COLUMNS": "200"}
    command = Command(argv=(linter, "--no-cache"), cwd=root, timeout_s=120, merge_stderr=True)
    return ProcessRunner(env).run(command)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    shutil.copytree(SOURCES, folder / "ci", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


@pytest.mark.parametrize(
    ("module", "planted", "contract"),
    [
        (
            "megtrim/places/devices/virtual_phone.py",
            "from virtual_phone import manager",
            "the virtual phone is a program to megtrim, started like any other",
        ),
        (
            "megtrim/core/verdict/model.py",
            "from megtrim.core.report import html",
            "the command line over the features over the chain over the ground",
        ),
        (
            "megtrim/places/devices/local.py",
            "from megtrim.places.compile.projects import builder",
            "doers do not know each other",
        ),
        (
            "virtual_phone/phone.py",
            "from virtual_phone.faults import relay",
            "the virtual phone: the command line over the phone over what it is made of",
        ),
    ],
)
def test_a_planted_import_is_seen(copy: Path, module: str, planted: str, contract: str) -> None:
    path = copy / "ci" / module
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\n{planted}\n", encoding="utf-8")
    try:
        outcome = lint_imports(copy)
    finally:
        path.write_text(text, encoding="utf-8")

    assert outcome.rc == 1, outcome.stdout
    assert f"\n{contract} BROKEN" in outcome.stdout
