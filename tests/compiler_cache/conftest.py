import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from megtrim.build import toolchains
from megtrim.build.engines import checkout
from megtrim.build.engines.builder import Builder
from megtrim.build.engines.cmake import compiler_cache
from megtrim.build.engines.cmake.compiler_cache import CompilerCache
from megtrim.build_spec import BuildSpec, Variant
from megtrim.config.model import ToolchainConfig
from megtrim.util.process import ProcessRunner
from support.storages import Redis, redis_server

FILES = 3
_CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(small CXX)
file(GLOB sources CONFIGURE_DEPENDS src/*.cpp)
add_executable(small ${sources})
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What came of one build. ``counted``: what ccache did, by its own names."""

    program: str
    counted: Counter[str]
    warnings: tuple[str, ...]
    wall_s: float
    text: str
    """All that the build left in text, logs and records."""


@dataclass(slots=True)
class Bench:
    root: Path
    processes: ProcessRunner
    number: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        source = self.root / "engine"
        (source / "src").mkdir(parents=True)
        (source / "CMakeLists.txt").write_text(_CMAKE, encoding="utf-8")
        parts = [f"int part_{number}();" for number in range(1, FILES)]
        calls = " + ".join(f"part_{number}()" for number in range(1, FILES))
        main = "\n".join((*parts, f"int main() {{ return {calls} == 3 ? 0 : 1; }}\n"))
        (source / "src" / "main.cpp").write_text(main, encoding="utf-8")
        for number in range(1, FILES):
            text = f"int part_{number}() {{ return {number}; }}\n"
            (source / "src" / f"part_{number}.cpp").write_text(text, encoding="utf-8")

    def build(
        self, remote: str = "", *, writes: bool = True, meanwhile: Callable[[], None] = lambda: None
    ) -> Built:
        self.number += 1
        home = self.root / f"build-{self.number}"
        (home / "stage").mkdir(parents=True)
        processes = ProcessRunner({**self.processes.env, "CCACHE_DIR": str(home / "local")})
        warnings: list[str] = []
        log = home / "ccache.log"
        storages = compiler_cache.parse_storages(remote, source="CCACHE_REMOTE_STORAGE")
        passed = {"CCACHE_STATSLOG": str(log)}
        cache = CompilerCache(storages, writes=writes, passed=passed, warn=warnings.append)
        toolchain = toolchains.find(ToolchainConfig(kind="host"), processes, emulated=False)
        cache.variables(processes, toolchain.cxx_compiler, home / "work")
        meanwhile()
        source = checkout.take(self.root / "engine", processes)
        builder = Builder(source, toolchain, processes, jobs=2, cache=cache)
        spec = BuildSpec(variant=Variant.PLAIN, targets=("small",), options=())
        started = time.monotonic()
        builder.build(spec, work=home / "work", folder=home / "stage", progress=lambda *_: None)
        wall_s = time.monotonic() - started
        words = log.read_text(encoding="utf-8").split("\n")
        return Built(
            program=hashlib.sha256((home / "stage" / "bin" / "small").read_bytes()).hexdigest(),
            counted=Counter(word for word in words if word and not word.startswith("#")),
            warnings=tuple(warnings),
            wall_s=wall_s,
            text=_text(home),
        )


def _text(home: Path) -> str:
    kept = [path for path in sorted(home.rglob("*")) if path.is_file()]
    return "".join(path.read_bytes().decode("latin-1") for path in kept)


@pytest.fixture(scope="module")
def bench(processes: ProcessRunner, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    own = {name: value for name, value in processes.env.items() if not name.startswith("CCACHE_")}
    return Bench(tmp_path_factory.mktemp("bench"), ProcessRunner(own))


@pytest.fixture(scope="module")
def plain(bench: Bench) -> Built:
    return bench.build()


@pytest.fixture
def redis(processes: ProcessRunner, tmp_path: Path) -> Iterator[Redis]:
    with redis_server(processes, tmp_path) as server:
        yield server
