from __future__ import annotations

from pathlib import Path

import pytest

from megtrim.build.engines.build_paths import expect_plain
from megtrim.util.errors import InputError


@pytest.mark.parametrize("wrong", [*" \t\n'\"$;\\%,=:`[]{}()|&*?<>!", "\u00a0", "\u2028", "\udc80"])
def test_what_a_tool_would_read_as_its_own_is_refused(wrong: str) -> None:
    with pytest.raises(InputError) as caught:
        expect_plain(Path(f"/home/jo/a{wrong}b/out"), "--out", hint="name another folder")

    assert caught.value.message == (
        f"--out: found {wrong!r} in {f'/home/jo/a{wrong}b/out'!r}, "
        "which builds cannot have in their path"
    )
    assert caught.value.hint == (
        "name another folder, whose whole path has only letters, digits and _ . / + @ -"
    )


@pytest.mark.parametrize("path", ["/a-b_c.d/e+f@2~#^/-x", "/home/jürgen/構築/a\u0308"])
def test_what_every_tool_takes_passes(path: str) -> None:
    expect_plain(Path(path), "--out", hint="")


@pytest.mark.parametrize("path", ["/my ndk", "/a;b", "/a$b", "/a'b", "/a&b", "/a\nb", "/ä"])
def test_a_shell_script_takes_less(path: str) -> None:
    with pytest.raises(InputError, match="the NDK: found"):
        expect_plain(Path(path), "the NDK", script=True, hint="")
    expect_plain(Path("/opt/ndk-r21e_x+1@2/build.dir"), "the NDK", script=True, hint="")
