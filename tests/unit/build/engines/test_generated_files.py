from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines import source_copy
from megtrim.build.engines.checkout import Checkout, digest_of
from megtrim.build.engines.cmake.driver import WorkTree
from megtrim.build_spec import BuildSpec, Variant
from megtrim.util.errors import ProductFailure

ORDER = BuildSpec(
    variant=Variant.REDUCED,
    targets=(),
    options=(),
    overrides=(("a.cpp", "other\r\n"),),
    include=(("midout.h", "regions\n"), ("megtrim/tags/kern.h", "kern\n")),
)
PLAIN = BuildSpec(variant=Variant.PLAIN, targets=(), options=())


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    root = tmp_path / "checkout"
    root.mkdir()
    for name in ("a.cpp", "b.cpp"):
        (root / name).write_text(f"{name}\n", encoding="utf-8")
    files = {name: digest_of(root / name) or "" for name in ("a.cpp", "b.cpp")}
    return Checkout(root=root, files=files, commit="", dirty=())


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(root=tmp_path / "work")


def present(tree: WorkTree) -> dict[str, str]:
    return {
        str(path.relative_to(tree.root)): path.read_bytes().decode()
        for folder in (tree.source, tree.include)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_the_tree_has_what_is_ordered(checkout: Checkout, tree: WorkTree) -> None:
    source_copy.update(ORDER, tree, checkout)

    assert present(tree) == {
        "src/a.cpp": "other\r\n",
        "src/b.cpp": "b.cpp\n",
        "include/midout.h": "regions\n",
        "include/megtrim/tags/kern.h": "kern\n",
    }
    source_copy.expect_unchanged(ORDER, tree)


def test_what_is_no_longer_ordered_goes(checkout: Checkout, tree: WorkTree) -> None:
    source_copy.update(ORDER, tree, checkout)
    source_copy.update(PLAIN, tree, checkout)

    assert present(tree) == {"src/a.cpp": "a.cpp\n", "src/b.cpp": "b.cpp\n"}


@pytest.mark.parametrize("name", ["src/a.cpp", "include/megtrim/tags/kern.h"])
def test_a_file_that_changed_meanwhile_is_shown(
    checkout: Checkout, tree: WorkTree, name: str
) -> None:
    source_copy.update(ORDER, tree, checkout)
    (tree.root / name).write_text("otherwise\n", encoding="utf-8")

    with pytest.raises(ProductFailure, match="changed during the build"):
        source_copy.expect_unchanged(ORDER, tree)
