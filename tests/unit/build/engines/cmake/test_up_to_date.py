"""When a tree is as its last build left it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.build.engines.cmake import driver
from megtrim.build.engines.cmake.driver import WorkTree
from megtrim.build_spec import BuildSpec, Variant
from megtrim.util.errors import InfrastructureFailure
from unit.build.engines.support import TOOLCHAIN

ORDER = BuildSpec(variant=Variant.REDUCED, targets=("program",), options=(("A", "ON"),))


@pytest.fixture
def tree(tmp_path: Path) -> WorkTree:
    return WorkTree(root=tmp_path)


def test_what_was_noted_is_known_until_it_is_forgotten(tree: WorkTree) -> None:
    """A build that is cut off leaves nothing that looks like a finished one."""
    assert not driver.is_built(tree, "one")
    driver.note_build(tree, "one")
    assert driver.is_built(tree, "one")
    assert not driver.is_built(tree, "another")
    driver.forget_build(tree)
    driver.forget_build(tree)
    assert not driver.is_built(tree, "one")


def test_a_note_that_is_no_text_is_none(tree: WorkTree) -> None:
    """Then everything is asked again."""
    (tree.root / "built.json").write_bytes(b"\xff\xfe")

    assert not driver.is_built(tree, "one")


def test_a_note_that_cannot_go_stops_the_build(tree: WorkTree) -> None:
    """It would vouch for what comes next."""
    (tree.root / "built.json").mkdir()

    with pytest.raises(InfrastructureFailure, match=r"built\.json cannot be written"):
        driver.forget_build(tree)


def test_whatever_enters_a_build_is_in_its_token() -> None:
    """Orders, files of ours, compilers and sources."""
    tokens = {
        driver.build_token(ORDER, TOOLCHAIN, ("1",)),
        driver.build_token(replace(ORDER, options=(("A", "OFF"),)), TOOLCHAIN, ("1",)),
        driver.build_token(replace(ORDER, include=(("midout.h", "1"),)), TOOLCHAIN, ("1",)),
        driver.build_token(ORDER, replace(TOOLCHAIN, version="2"), ("1",)),
        driver.build_token(ORDER, TOOLCHAIN, ("2",)),
        driver.build_token(ORDER, TOOLCHAIN, ("1", "2")),
    }

    assert len(tokens) == 6
    assert driver.build_token(ORDER, TOOLCHAIN, ("1",)) in tokens
