"""Algorithm caches of searches, joined: by the sample engine's text, and by real files."""

import struct
from collections.abc import Sequence

import pytest

from megtrim.core.keep.algo_cache import CacheFormat, Clash, join_caches
from megtrim.engines.megengine.algo_cache import MgeCaches
from megtrim.engines.sample_caches import SampleCaches
from megtrim.libs.util.errors import InputError
from support.upstream import DATA

SAMPLE: CacheFormat = SampleCaches()
MGE: CacheFormat = MgeCaches()
HEADING = "sample algorithm cache v1\n"


def text(*lines: str) -> bytes:
    return (HEADING + "".join(f"{line}\n" for line in lines)).encode()


def real(name: str) -> bytes:
    return (DATA / f"caches/{name}.cache").read_bytes()


@pytest.mark.parametrize(
    ("caches", "joined", "others"),
    [
        ([text("b -> X")], text("b -> X"), ()),
        ([text("b -> X"), text("a -> Y")], text("a -> Y", "b -> X"), ()),
        ([text("a -> X"), text("a -> X")], text("a -> X"), ()),
        ([text("a -> X"), text("a -> Y", "b -> Z")], text("a -> X", "b -> Z"), (("m1", "Y"),)),
        # The first scenario decides, whatever most of them found; what agrees with it is no clash.
        (
            [text("a -> X"), text("a -> Y"), text("a -> X"), text("a -> Z")],
            text("a -> X"),
            (("m1", "Y"), ("m3", "Z")),
        ),
        ([text(), text("a -> X")], text("a -> X"), ()),
    ],
)
def test_searches_joined(
    caches: Sequence[bytes], joined: bytes, others: tuple[tuple[str, str], ...]
) -> None:
    found = join_caches([(f"m{at}", each) for at, each in enumerate(caches)], SAMPLE)
    clash = Clash(key="a", kept="X", by="m0", others=others)

    assert found.data == joined
    assert found.clashes == ((clash,) if others else ())
    assert found.answers == len(joined.splitlines()) - 1


def test_both_answers_are_named_with_their_scenarios() -> None:
    found = join_caches([("m/s@c", text("a -> X")), ("n/s@c", text("a -> Y"))], SAMPLE)

    assert found.clashes[0].describe() == "a: X (m/s@c) is kept, and not Y (n/s@c)"


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
    ("form", "data", "problem"),
    [
        (MGE, b"", "found 0 of 4 bytes at byte 0"),
        (MGE, ONE[:-1], "found 26 of 27 bytes"),
        (MGE, ONE + b"x", "found 1 bytes after the last category"),
        (MGE, struct.pack("<I", 1) + blob(b"c" * 256), "found the category b'cc"),
        (MGE, struct.pack("<I", 1) + blob(b"\xff"), "found the category"),
        (MGE, ONE.replace(ANSWER, struct.pack("<I", 0) + ANSWER[4:]), "is not a list of algorit"),
        (SAMPLE, b"", ":1: expected 'sample algorithm cache v1'"),
        (SAMPLE, text("a -> X")[:-1], ":1: expected"),
        (SAMPLE, text("a"), ":2: found 'a', expected OPERATOR -> ALGORITHM once"),
        (SAMPLE, text("a -> X", "a -> Y"), ":3: found 'a -> Y'"),
        (SAMPLE, b"\xff", "UTF-8"),
    ],
)
def test_a_damaged_cache_is_refused(form: CacheFormat, data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        join_caches([("m/s@c", data)], form)

    assert problem in caught.value.message
    assert "the cache of m/s@c" in caught.value.message


def test_a_key_with_two_answers_in_one_file_is_refused() -> None:
    pair = blob(b"1,2") + blob(ANSWER)
    twice = struct.pack("<I", 1) + blob(b"conv") + struct.pack("<I", 2) + pair + pair

    with pytest.raises(InputError, match="a second answer for conv 1,2"):
        MGE.parse(twice, source="a cache")
