"""The builder's own steps around CMake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.engines import cmake
from megtrim.engines.builder import Builder
from megtrim.engines.cmake import Job, WorkTree
from megtrim.engines.compiler_cache import CompilerCache
from megtrim.process import Processes
from megtrim.recipe import Toolchain


def test_flatc_takes_the_place_of_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a link of the checkout leads to is not written."""
    tree = WorkTree(root=tmp_path / "work")
    (tree.source / "third_party" / "flatbuffers").mkdir(parents=True)
    target = tree.source / "build_dir" / "host_flatc" / "install" / "bin" / "flatc"
    target.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious", encoding="utf-8")
    target.symlink_to(elsewhere)

    def build(job: Job, _processes: Processes, _progress: Callable[..., None]) -> None:
        job.build.mkdir()
        (job.build / "flatc").write_text("flatc", encoding="utf-8")

    monkeypatch.setattr(cmake, "run", build)
    toolchain = cast(Toolchain, cast(Any, _Toolchain()))
    builder = Builder(
        cast(Any, None),
        toolchain,
        Processes({}),
        jobs=1,
        cache=CompilerCache((), writes=True, passed={}, warn=lambda _: None),
    )
    builder._host_tools(tree, tmp_path / "log", lambda *_: None)

    assert elsewhere.read_text(encoding="utf-8") == "precious"
    assert (target.is_symlink(), target.read_text(encoding="utf-8")) == (False, "flatc")


class _Toolchain:
    host_cxx = ("c++",)
    cxx_compiler = ("c++",)
