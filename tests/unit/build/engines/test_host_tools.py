from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from megtrim.build.engines import builder
from megtrim.build.engines.application import BuildEnvironment
from megtrim.build.engines.cmake import driver
from megtrim.build.engines.cmake.driver import Job, WorkTree
from megtrim.util.process import ProcessRunner
from unit.build.engines.support import TOOLCHAIN


def test_flatc_takes_the_place_of_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = WorkTree(root=tmp_path / "work")
    (tree.source / "third_party" / "flatbuffers").mkdir(parents=True)
    target = tree.source / "build_dir" / "host_flatc" / "install" / "bin" / "flatc"
    target.parent.mkdir(parents=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("precious", encoding="utf-8")
    target.symlink_to(elsewhere)

    def build(job: Job, _processes: ProcessRunner, _progress: Callable[..., None]) -> None:
        job.build.mkdir()
        (job.build / "flatc").write_text("flatc", encoding="utf-8")

    monkeypatch.setattr(driver, "run", build)
    shop = BuildEnvironment(
        toolchain=TOOLCHAIN,
        processes=ProcessRunner({}),
        jobs=1,
        env={},
        launcher=(),
        link_flags=(),
        log=tmp_path / "log",
        progress=lambda *_: None,
    )
    builder.build_flatc(tree, shop)

    assert elsewhere.read_text(encoding="utf-8") == "precious"
    assert (target.is_symlink(), target.read_text(encoding="utf-8")) == (False, "flatc")
