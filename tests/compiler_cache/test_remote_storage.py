import hashlib
import itertools
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from megtrim.core.build_spec import BuildSpec, Variant
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.projects import checkout
from megtrim.places.compile.projects.builder import Builder
from megtrim.places.compile.projects.cmake import compiler_cache
from megtrim.places.compile.projects.cmake.compiler_cache import OPERATION_TIMEOUT_MS, CompilerCache
from megtrim.places.compile.toolchains import kinds as toolchain_kinds
from support.storages import Redis, Web, free_port, redis_server

FILES = 3
_CMAKE = """\
cmake_minimum_required(VERSION 3.16)
project(small CXX)
file(GLOB sources CONFIGURE_DEPENDS src/*.cpp)
add_executable(small ${sources})
"""
PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "share-a-compiler-cache.md"
PASSWORD = "geheim-4711"
ENTRIES = 2 * FILES + 2
"""A manifest and a result of each file, and of the empty one that asks whether it is there."""


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
        toolchain = toolchain_kinds.find(ToolchainConfig(kind="host"), processes, emulated=False)
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


def missed(built: Built) -> int:
    return built.counted["cache_miss"]


def taken(built: Built) -> int:
    return built.counted["remote_storage_hit"]


def expect_without(url: str, built: Built, plain: Built) -> None:
    assert built.warnings == (f"the remote compiler cache {url} does not answer: built without it",)
    assert (missed(built), built.program) == (FILES, plain.program)


def test_a_second_machine_compiles_nothing(bench: Bench, plain: Built, redis: Redis) -> None:
    first = bench.build(redis.url())
    second = bench.build(redis.url())

    assert (missed(first), taken(first)) == (FILES, 0)
    assert (missed(second), taken(second)) == (0, FILES)
    assert first.program == second.program == plain.program
    assert len(redis.entries()) == ENTRIES
    assert first.warnings == second.warnings == ()


def test_a_web_server_does_the_same(bench: Bench, plain: Built) -> None:
    with Web() as web:
        first = bench.build(web.url)
        second = bench.build(web.url)

        assert (missed(first), missed(second), taken(second)) == (FILES, 0, FILES)
        assert len(web.entries) == ENTRIES
    assert second.program == plain.program


def test_a_run_that_may_not_write_leaves_nothing(bench: Bench, plain: Built, redis: Redis) -> None:
    alone = bench.build(redis.url(), writes=False)
    assert redis.entries() == {}
    assert (missed(alone), alone.program) == (FILES, plain.program)

    bench.build(redis.url())
    before = redis.entries()
    reader = bench.build(redis.url(), writes=False)

    assert (missed(reader), taken(reader)) == (0, FILES)
    assert redis.entries() == before


def test_the_server_keeps_others_from_writing(bench: Bench, plain: Built, tmp_path: Path) -> None:
    (settings,) = re.findall(r"```\n# redis.conf\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    settings = settings.replace("PASSWORD", PASSWORD)

    with redis_server(bench.processes, tmp_path, settings) as redis:
        stranger = bench.build(redis.url())
        writer = bench.build(redis.url(f"ci:{PASSWORD}"))
        reader = bench.build(redis.url())

    assert stranger.program == writer.program == reader.program == plain.program
    assert stranger.warnings == (
        f"the remote compiler cache {redis.url()} cannot be written: it is only read",
    )
    assert "remote_storage_error" not in stranger.counted
    assert (missed(writer), missed(reader), taken(reader)) == (FILES, 0, FILES)
    assert PASSWORD not in writer.text
    assert PASSWORD not in "".join(writer.warnings)


def test_a_web_servers_token(bench: Bench, plain: Built) -> None:
    with Web(token=PASSWORD) as web:
        stranger = bench.build(web.url)
        assert web.entries == {}
        writer = bench.build(f"{web.url}|bearer-token={PASSWORD}")
        reader = bench.build(web.url, writes=False)

    assert stranger.program == plain.program
    assert (missed(writer), missed(reader), taken(reader)) == (FILES, 0, FILES)
    assert PASSWORD not in writer.text


def test_a_wrong_password_costs_only_time(bench: Bench, plain: Built, redis: Redis) -> None:
    """The storage counts as one that does not answer, and the password stays unsaid."""
    redis.ask("CONFIG", "SET", "requirepass", "another")

    built = bench.build(redis.url(PASSWORD))

    expect_without(redis.url(), built, plain)
    assert PASSWORD not in built.text


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_a_dead_server_is_left_out(bench: Bench, plain: Built, scheme: str) -> None:
    url = f"{scheme}://127.0.0.1:{free_port()}"

    built = bench.build(url)

    expect_without(url, built, plain)
    assert "remote_storage_error" not in built.counted


def test_a_frozen_server_is_left_out(bench: Bench, plain: Built, redis: Redis) -> None:
    redis.freeze()

    expect_without(redis.url(), bench.build(redis.url()), plain)


@pytest.mark.parametrize(
    ("end", "counted"),
    [
        (Redis.kill, ("remote_storage_error",)),
        (Redis.freeze, ("remote_storage_error", "remote_storage_timeout")),
    ],
    ids=["dies", "freezes"],
)
def test_a_server_that_ends_meanwhile(
    bench: Bench, plain: Built, redis: Redis, end: Callable[[Redis], None], counted: tuple[str, ...]
) -> None:
    """After it had answered: each compilation finds out by itself, and goes on.

    It waits for the server once, and not for ccache's own ten seconds.
    """
    built = bench.build(redis.url(), meanwhile=lambda: end(redis))

    assert (missed(built), built.program, built.warnings) == (FILES, plain.program, ())
    assert sum(built.counted[name] for name in counted) == FILES
    assert built.wall_s < plain.wall_s + FILES * (OPERATION_TIMEOUT_MS / 1000) + 5


def test_damaged_entries_are_compiled_again(bench: Bench, plain: Built, redis: Redis) -> None:
    bench.build(redis.url())
    damages: tuple[Callable[[bytes], bytes], ...] = (
        lambda _: bytes(range(256)) * 12,
        lambda _: b"",
        lambda entry: entry[: len(entry) // 2],
        lambda entry: entry[:-9] + bytes([entry[-9] ^ 1]) + entry[-8:],
    )
    kinds = itertools.cycle(damages)
    # By size: manifests and results each have every kind of damage.
    for key, entry in sorted(redis.entries().items(), key=lambda each: len(each[1])):
        redis.ask("SET", key, next(kinds)(entry))

    built = bench.build(redis.url())

    assert (missed(built), built.program) == (FILES, plain.program)
    assert taken(bench.build(redis.url())) == FILES
