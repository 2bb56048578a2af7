"""Programs for this machine that a cross build calls: MegEngine's ``flatc``."""

from __future__ import annotations

import shutil

from megtrim.build.engines.application import BuildEnvironment
from megtrim.build.engines.cmake import driver
from megtrim.build.engines.cmake.driver import Job, WorkTree

_FLATBUFFERS = "third_party/flatbuffers"
_FLATC = "build_dir/host_flatc/install/bin/flatc"


def build(tree: WorkTree, build_env: BuildEnvironment) -> None:
    """Build ``flatc``, and copy it to where the engine looks for it in a cross build."""
    flatbuffers = tree.source / _FLATBUFFERS
    if not flatbuffers.is_dir():
        return
    build = tree.root / "host_flatc"
    compiler = build_env.toolchain.host_cxx or build_env.toolchain.cxx_compiler
    job = Job(
        source=flatbuffers,
        build=build,
        options=(
            ("CMAKE_BUILD_TYPE", "Release"),
            ("CMAKE_CXX_COMPILER", compiler[0]),
            ("FLATBUFFERS_BUILD_TESTS", "OFF"),
            ("CMAKE_POLICY_VERSION_MINIMUM", "3.5"),
            *build_env.launcher,
        ),
        targets=("flatc",),
        log=build_env.log,
        jobs=build_env.jobs,
        env=build_env.env,
    )
    driver.run(
        job, build_env.processes, lambda done, total, _: build_env.progress(done, total, "flatc")
    )
    target = tree.source / _FLATC
    if target.exists() and target.read_bytes() == (build / "flatc").read_bytes():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    # A link in its place would be followed, and may lead out of the tree.
    target.unlink(missing_ok=True)
    shutil.copy2(build / "flatc", target)
