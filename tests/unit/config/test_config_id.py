import re
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from megtrim.config.config_id import choose, id_of, infix_of, is_inside, split, suffix_of

FOLDERS = st.text(alphabet="ab-A_. /", min_size=1, max_size=8)
FILES = st.one_of(FOLDERS, FOLDERS.map(lambda name: f"{name}/megtrim.yaml"))
TOOLCHAINS = st.text(alphabet="ab-0#A.", min_size=1, max_size=6)
PATHS = st.one_of(FILES, st.builds(choose, st.one_of(FILES, st.just("megtrim.yaml")), TOOLCHAINS))


@pytest.mark.parametrize(
    ("config", "found"),
    [
        ("megtrim.yaml", ""),
        ("./megtrim.yaml", ""),
        ("", ""),
        ("android/megtrim.yaml", "android"),
        ("./android//megtrim.yaml", "android"),
        ("camera-app/megtrim.yaml", "camera-app"),
        ("apps/camera/megtrim.yaml", "apps-camera-ec59c978"),
        ("apps-camera/megtrim.yaml", "apps-camera"),
        ("megtrim-quick.yaml", "megtrim-quick-034ca81f"),
        ("Android/megtrim.yaml", "android-2f28b52e"),
        ("android.v2/megtrim.yaml", "android-v2-fb0c964c"),
        ("a-0123abcd/megtrim.yaml", "a-0123abcd-357c3d5e"),
        ("模型/megtrim.yaml", "50679dfd"),
        ("模型.yaml", "a318b199"),
        ("/srv/megtrim.yaml", ""),
        ("../megtrim.yaml", ""),
        ("megtrim.yaml#android-arm64", "_android-arm64"),
        ("./megtrim.yaml#android-arm64", "_android-arm64"),
        ("android/megtrim.yaml#arm64", "android_arm64"),
        ("apps/camera.yaml#arm64", "apps-camera-1516d27b_arm64"),
        ("megtrim.yaml#Arm64", "megtrim-yaml-arm64-64f2f469"),
        ("../megtrim.yaml#arm64", ""),
    ],
)
def test_an_id_is_the_folder_or_has_a_digest(config: str, found: str) -> None:
    assert id_of(config) == found


def test_long_paths_have_short_ids() -> None:
    long, longer = f"{'a' * 41}/megtrim.yaml", f"{'a' * 42}/megtrim.yaml"

    assert id_of(f"{'a' * 40}/megtrim.yaml") == "a" * 40
    assert re.fullmatch("a{40}-[0-9a-f]{8}", id_of(long))
    assert id_of(long) != id_of(longer)


@given(st.text(min_size=1))
@example("\ud800/megtrim.yaml")
@example("megtrim.yaml#a")
def test_an_id_is_safe_in_every_name(config: str) -> None:
    found = id_of(config)

    assert re.fullmatch(r"(?:[a-z0-9]+(?:-[a-z0-9]+)*)?(?:_[a-z0-9]+(?:-[a-z0-9]+)*)?", found)
    assert len(found) <= 90
    assert suffix_of(config) == (f".{found}" if found else "")


@pytest.mark.parametrize(
    ("config", "parts"),
    [
        ("megtrim.yaml", ("megtrim.yaml", "")),
        ("megtrim.yaml#arm64", ("megtrim.yaml", "arm64")),
        ("a#b/megtrim.yml#arm64", ("a#b/megtrim.yml", "arm64")),
        ("megtrim.yaml#", ("megtrim.yaml#", "")),
        ("a.yaml#/b.yaml", ("a.yaml#/b.yaml", "")),
        ("notes#1", ("notes#1", "")),
    ],
)
def test_a_toolchain_is_chosen_after_a_file(config: str, parts: tuple[str, str]) -> None:
    assert split(config) == parts


@given(PATHS, PATHS)
@example("a/b/megtrim.yaml", "a-b/megtrim.yaml")
@example("a-b/megtrim.yaml", "a/megtrim.yaml")
@example("a.yaml", "a/megtrim.yaml")
def test_different_paths_have_different_names(one: str, other: str) -> None:
    if id_of(one) == id_of(other):
        return
    theirs = (f"megtrim-traces{infix_of(other)}desk-1", f"megtrim-traces{suffix_of(other)}")

    assert not any(fnmatchcase(name, f"megtrim-traces{infix_of(one)}*") for name in theirs)


@given(st.lists(PATHS.filter(is_inside), max_size=20))
def test_only_one_path_has_an_id(paths: list[str]) -> None:
    different = {PurePosixPath(path) for path in paths}

    assert len({id_of(path) for path in paths}) == len(different)
