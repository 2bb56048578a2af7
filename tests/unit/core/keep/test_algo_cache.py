"""Algorithm caches of searches, joined: by the sample engine's text."""

from collections.abc import Sequence

import pytest

from megtrim.core.keep.algo_cache import CacheFormat, Clash, join_caches
from megtrim.engines.sample_caches import SampleCaches
from megtrim.libs.util.errors import InputError

SAMPLE: CacheFormat = SampleCaches()
HEADING = "sample algorithm cache v1\n"


def text(*lines: str) -> bytes:
    return (HEADING + "".join(f"{line}\n" for line in lines)).encode()


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
    ("data", "problem"),
    [
        (b"", ":1: no algorithm cache: expected 'sample algorithm cache v1'"),
        (text("a -> X")[:-1], ":1: no algorithm cache"),
        (text("a"), ":2: found 'a', expected OPERATOR -> ALGORITHM once"),
        (text("a -> X", "a -> Y"), ":3: found 'a -> Y'"),
        (b"\xff", "UTF-8"),
    ],
)
def test_a_damaged_cache_is_refused(data: bytes, problem: str) -> None:
    with pytest.raises(InputError) as caught:
        join_caches([("m/s@c", data)], SAMPLE)

    assert problem in caught.value.message
    assert "the cache of m/s@c" in caught.value.message
