from __future__ import annotations

import pytest

from megtrim.build.images.docker import expect_fixed, is_fixed
from megtrim.util.errors import InputError

DIGEST = f"sha256:{'0a' * 32}"


@pytest.mark.parametrize("name", [DIGEST, f"debian@{DIGEST}", f"ghcr.io/team/android:r21@{DIGEST}"])
def test_a_digest_and_an_id_are_fixed(name: str) -> None:
    assert is_fixed(name)
    expect_fixed(name, source="megtrim.yaml:7")


@pytest.mark.parametrize(
    "name", ["", "debian", "debian:12", "debian@sha256:0a", f"@{DIGEST}", f"debian@{DIGEST}0"]
)
def test_a_tag_is_refused_with_its_place(name: str) -> None:
    assert not is_fixed(name)
    with pytest.raises(InputError) as caught:
        expect_fixed(name, source="megtrim.yaml:7")
    assert caught.value.message.startswith(f"megtrim.yaml:7: found {name!r}, expected NAME@sha256")
