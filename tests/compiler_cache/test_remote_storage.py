import itertools
import re
from pathlib import Path

import pytest

from compiler_cache.conftest import FILES, Bench, Built
from megtrim.build.engines.cmake.compiler_cache import OPERATION_TIMEOUT_MS
from support.storages import Redis, Web, free_port, redis_server

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "share-a-compiler-cache.md"
PASSWORD = "geheim-4711"
ENTRIES = 2 * FILES + 2
"""A manifest and a result of each file, and of the empty one that asks whether it is there."""


def missed(built: Built) -> int:
    return built.counted["cache_miss"]


def taken(built: Built) -> int:
    return built.counted["remote_storage_hit"]


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

    assert (missed(built), built.program) == (FILES, plain.program)
    assert built.warnings == (
        f"the remote compiler cache {redis.url()} does not answer: built without it",
    )
    assert PASSWORD not in built.text


@pytest.mark.parametrize("scheme", ["redis", "http"])
def test_a_dead_server_is_left_out(bench: Bench, plain: Built, scheme: str) -> None:
    url = f"{scheme}://127.0.0.1:{free_port()}"

    built = bench.build(url)

    assert built.warnings == (f"the remote compiler cache {url} does not answer: built without it",)
    assert (missed(built), built.program) == (FILES, plain.program)
    assert "remote_storage_error" not in built.counted


def test_a_frozen_server_is_left_out(bench: Bench, plain: Built, redis: Redis) -> None:
    redis.freeze()

    built = bench.build(redis.url())

    assert built.warnings == (
        f"the remote compiler cache {redis.url()} does not answer: built without it",
    )
    assert (missed(built), built.program) == (FILES, plain.program)


def test_a_server_that_dies_meanwhile(bench: Bench, plain: Built, redis: Redis) -> None:
    """After it had answered: each compilation finds out by itself, and goes on."""
    built = bench.build(redis.url(), meanwhile=redis.kill)

    assert (missed(built), built.program, built.warnings) == (FILES, plain.program, ())
    assert built.counted["remote_storage_error"] == FILES


def test_a_server_that_freezes_meanwhile(bench: Bench, plain: Built, redis: Redis) -> None:
    """Each compilation waits for it once, and not for ccache's own ten seconds."""
    built = bench.build(redis.url(), meanwhile=redis.freeze)

    assert (missed(built), built.program, built.warnings) == (FILES, plain.program, ())
    assert built.counted["remote_storage_error"] + built.counted["remote_storage_timeout"] == FILES
    assert built.wall_s < plain.wall_s + FILES * (OPERATION_TIMEOUT_MS / 1000) + 5


def test_damaged_entries_are_compiled_again(bench: Bench, plain: Built, redis: Redis) -> None:
    bench.build(redis.url())
    kinds = itertools.cycle(("garbage", "nothing", "half", "one bit"))
    # By size: manifests and results each have every kind of damage.
    for key, entry in sorted(redis.entries().items(), key=lambda each: len(each[1])):
        redis.ask("SET", key, _damaged(entry, next(kinds)))

    built = bench.build(redis.url())

    assert (missed(built), built.program) == (FILES, plain.program)
    assert taken(bench.build(redis.url())) == FILES


def _damaged(entry: bytes, damage: str) -> bytes:
    match damage:
        case "garbage":
            return bytes(range(256)) * 12
        case "nothing":
            return b""
        case "half":
            return entry[: len(entry) // 2]
        case _:
            middle = len(entry) // 2
            return entry[:middle] + bytes([entry[middle] ^ 1]) + entry[middle + 1 :]
