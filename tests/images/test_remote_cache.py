from collections import Counter
from pathlib import Path

from megtrim.build.engines.cmake import compiler_cache
from megtrim.build.engines.cmake.compiler_cache import VARIABLE, CompilerCache
from megtrim.build.images.container_runner import ContainerRunner
from megtrim.util.process import Command, ProcessRunner
from support.storages import free_port, redis_server

CLANG = ("/usr/bin/clang++-14",)


def variables(
    inside: ContainerRunner, url: str, folder: Path, warnings: list[str]
) -> dict[str, str]:
    storages = compiler_cache.parse_storages(url, source=VARIABLE)
    cache = CompilerCache(storages, writes=True, passed={}, warn=warnings.append)
    return dict(cache.variables(inside, CLANG, folder))


def compiled(inside: ContainerRunner, reported: dict[str, str], folder: Path) -> Counter[str]:
    folder.mkdir()
    (folder / "a.cpp").write_text("int a() { return 1; }\n", encoding="utf-8")
    env = {
        **reported,
        "CCACHE_DIR": str(folder / "local"),
        "CCACHE_STATSLOG": str(folder / "counted"),
        "CCACHE_BASEDIR": str(folder),
        "CCACHE_NOHASHDIR": "1",
    }
    argv = ("/usr/bin/ccache", *CLANG, "-c", "a.cpp", "-o", "a.o")
    outcome = inside.run(Command(argv=argv, cwd=folder, env=env, timeout_s=120))
    assert outcome.ok, outcome.stderr
    assert (folder / "a.o").stat().st_size > 0
    return Counter((folder / "counted").read_text(encoding="utf-8").split("\n"))


def test_a_storage_is_asked_and_used(
    inside: ContainerRunner, processes: ProcessRunner, tmp_path: Path
) -> None:
    warnings: list[str] = []
    out = tmp_path / "out"

    with redis_server(processes, tmp_path) as redis:
        reported = variables(inside, redis.url(), out / "asked", warnings)
        first = compiled(inside, reported, out / "first")
        second = compiled(inside, reported, out / "second")
        alone = compiled(inside, {}, out / "third")

    assert warnings == []
    assert (first["cache_miss"], first["remote_storage_write"]) == (1, 2)
    assert (second["cache_miss"], second["remote_storage_hit"]) == (0, 1)
    assert alone["cache_miss"] == 1
    assert alone["remote_storage_miss"] == 0


def test_a_dead_storage_is_left_out(inside: ContainerRunner, tmp_path: Path) -> None:
    warnings: list[str] = []
    url = f"redis://127.0.0.1:{free_port()}"

    reported = variables(inside, url, tmp_path / "out", warnings)

    assert reported == {VARIABLE: ""}
    assert warnings == [f"the remote compiler cache {url} does not answer: built without it"]
    listed = inside.run(Command(argv=("ls", "/sys/class/net"), env=reported, timeout_s=60))
    assert listed.stdout.split() == ["lo"]
