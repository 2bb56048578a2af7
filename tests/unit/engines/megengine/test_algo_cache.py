"""MegEngine's algorithm caches, by real files, and several of them joined."""

import struct

import pytest

from megtrim.core.keep.algo_cache import CacheFormat, join_caches
from megtrim.engines.megengine.algo_cache import MgeCaches
from megtrim.libs.util.errors import InputError
from support.upstream import DATA

MGE: CacheFormat = MgeCaches()


def real(name: str) -> bytes:
    return (DATA / f"caches/{name}.cache").read_bytes()


@pytest.mark.parametrize(
    "name", ["resnet18-s", "resnet18-s.again", "resnet-int8", "mobilenet-int8"]
)
def test_a_real_cache_is_written_as_it_is_read(name: str) -> None:
    answers = MGE.parse(real(name), source=name)
    written = MGE.dump(answers)

    assert MGE.parse(written, source=name) == answers
    assert len(written) == len(real(name))


def test_caches_of_several_models_are_one() -> None:
    names = ("resnet18-s", "resnet-int8", "mobilenet-int8")
    found = join_caches([(name, real(name)) for name in names], MGE)
    answers = MGE.parse(found.data, source="joined")

    assert found.answers == len(answers) == 21 + 12 + 13
    assert found.clashes == ()
    assert all(MGE.parse(real(name), source=name).items() <= answers.items() for name in names)


def test_two_searches_of_one_model_choose_otherwise() -> None:
    found = join_caches([("one", real("resnet18-s")), ("two", real("resnet18-s.again"))], MGE)

    assert found.answers == 21
    assert found.clashes[-1].describe() == (
        "PoolingForward 1,8,32,32;Float32|1,8,16,16;Float32|: "
        "FALLBACK_POOLING (one) is kept, and not ARM_POOLING_FILTER3_MAX (two)"
    )
    assert MGE.parse(found.data, source="joined") == MGE.parse(real("resnet18-s"), source="one")


def blob(data: bytes) -> bytes:
    return struct.pack("<I", len(data)) + data


ANSWER = struct.pack("<I", 1) + blob(b"\x01NAME") + blob(b":1;0.1;0:\0")
ONE = struct.pack("<I", 1) + blob(b"conv") + struct.pack("<I", 1) + blob(b"1,2") + blob(ANSWER)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "found 0 of 4 bytes at byte 0"),
        (ONE[:-1], "found 26 of 27 bytes"),
        (ONE + b"x", "found 1 bytes after the last category"),
        (struct.pack("<I", 1) + blob(b"c" * 256), "found the category b'cc"),
        (struct.pack("<I", 1) + blob(b"\xff"), "found the category"),
        (ONE.replace(ANSWER, struct.pack("<I", 0) + ANSWER[4:]), "is not a list of algorit"),
    ],
)
def test_a_damaged_cache_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        join_caches([("m/s@c", data)], MGE)

    assert problem in caught.value.message
    assert "the cache of m/s@c" in caught.value.message


def test_a_key_with_two_answers_in_one_file_is_refused() -> None:
    pair = blob(b"1,2") + blob(ANSWER)
    twice = struct.pack("<I", 1) + blob(b"conv") + struct.pack("<I", 2) + pair + pair

    with pytest.raises(InputError, match="a second answer for conv 1,2"):
        MGE.parse(twice, source="a cache")
