from pathlib import Path

import pytest

from megtrim.libs.util.errors import InputError
from megtrim.libs.util.state_folder import VARIABLE, state_folder


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({VARIABLE: "/srv/m", "HOME": "/home/a"}, "/srv/m"),
        ({"XDG_STATE_HOME": "/x", "HOME": "/home/a"}, "/x/megtrim"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/megtrim"),
        ({"HOME": "/home/a"}, "/home/a/.local/state/megtrim"),
    ],
)
def test_the_state_folder_comes_from_the_environment(env: dict[str, str], folder: str) -> None:
    assert state_folder(env) == Path(folder)


def test_without_a_home_it_must_be_named() -> None:
    with pytest.raises(InputError, match="neither a home nor MEGTRIM_STATE"):
        state_folder({})
