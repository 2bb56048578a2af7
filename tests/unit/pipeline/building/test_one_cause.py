"""The base with one cause as the head has it: each file and setting moves with its own cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.config.load import LoadedConfig, load_config
from megtrim.engines.checkout import Checkout
from megtrim.pipeline.building.one_cause import adapt_settings, compose_keep_set, compose_tree
from megtrim.size.growth.causes import Cause
from megtrim.size.growth.inputs import InputChanges, ValueChange

BUILD_FILES = ValueChange(label="build files", before="a", after="b")
FILES = {
    "base": ("src/a.cpp", "src/gone.cpp", "third_party/z/z.c", "CMakeLists.txt"),
    "head": ("src/a.cpp", "src/new.cpp", "third_party/z/z.c", "CMakeLists.txt"),
}


def checkout(folder: Path, side: str) -> Checkout:
    root = folder / side
    for name in FILES[side]:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(side, encoding="utf-8")
    return Checkout(root=root, files=dict.fromkeys(FILES[side], side), commit="", dirty=())


@pytest.mark.parametrize(
    ("cause", "changes", "of_head"),
    [
        (Cause.SOURCE, InputChanges(), {"src/a.cpp", "src/new.cpp", "CMakeLists.txt"}),
        (Cause.SOURCE, InputChanges(values=(BUILD_FILES,)), {"src/a.cpp", "src/new.cpp"}),
        (Cause.FLAGS, InputChanges(values=(BUILD_FILES,)), {"CMakeLists.txt"}),
        (Cause.DEPENDENCIES, InputChanges(), {"third_party/z/z.c"}),
        (Cause.MODELS, InputChanges(), set()),
    ],
)
def test_files_move_with_their_cause(
    tmp_path: Path, cause: Cause, changes: InputChanges, of_head: set[str]
) -> None:
    """A list of sources goes with the sources unless flags are among the differences."""
    (tmp_path / "tree" / "left").mkdir(parents=True)
    sides = [checkout(tmp_path, side) for side in ("base", "head")]

    tree = compose_tree(sides[0], sides[1], cause, changes, tmp_path / "tree")

    texts = {str(each.relative_to(tree)): each.read_text() for each in tree.rglob("*.*")}
    assert {name for name, text in texts.items() if text == "head"} == of_head
    gone = {"src/gone.cpp"} if cause is Cause.SOURCE else set()
    assert {name for name, text in texts.items() if text == "base"} == {
        *FILES["base"]
    } - of_head - gone


@pytest.mark.parametrize(
    ("cause", "texts"),
    [
        (Cause.MODELS, {"vgg/default@any.json": "base", "new/default@any.json": "head"}),
        (Cause.KEEP_SET, {"vgg/default@any.json": "head", "old/default@any.json": "base"}),
    ],
)
def test_a_keep_set_moves_by_scenario(tmp_path: Path, cause: Cause, texts: dict[str, str]) -> None:
    """Those that came and went are of the models."""
    for side, models in (("base", ("vgg", "old")), ("head", ("vgg", "new"))):
        for model in models:
            (tmp_path / side / model).mkdir(parents=True)
            (tmp_path / side / model / "default@any.json").write_text(side, encoding="utf-8")
    changes = InputChanges(new_scenarios=("new/default@any",), lost_scenarios=("old/default@any",))

    made = compose_keep_set(tmp_path / "base", tmp_path / "head", changes, cause, tmp_path / "to")

    found = {str(each.relative_to(made)): each.read_text() for each in made.rglob("*.json")}
    assert found == texts


def loaded(folder: Path, more: str) -> LoadedConfig:
    folder.mkdir()
    (folder / "m.sample").write_bytes(b"x")
    text = (
        f"version: 1\nengine: {{kind: sample, cmake: {{A: {folder.name}}}}}\n"
        "models: [{name: m, file: m.sample, scenarios: [{name: d}]}]\n"
    )
    (folder / "megtrim.yaml").write_text(text + more, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


@pytest.mark.parametrize(
    ("cause", "kind", "optimize", "option"),
    [
        (Cause.FLAGS, "host", "size", "head"),
        (Cause.TOOLCHAIN, "zig", "none", "base"),
        (Cause.SOURCE, "host", "none", "base"),
    ],
)
def test_settings_move_with_their_cause(
    tmp_path: Path, cause: Cause, kind: str, optimize: str, option: str
) -> None:
    """The keep set is where it is said to be."""
    base = loaded(tmp_path / "base", "toolchain: {kind: host}\n")
    head = loaded(tmp_path / "head", "toolchain: {kind: zig}\ntrim: {optimize: size}\n")

    config = adapt_settings(base, head, cause, tmp_path / "kept").config

    assert (config.toolchain.kind, config.trim.optimize) == (kind, optimize)
    assert config.engine.cmake == {"A": option}
    assert config.keep_set == tmp_path / "kept"
