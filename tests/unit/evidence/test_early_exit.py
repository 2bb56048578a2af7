import json

import pytest

from megtrim.evidence.fields import EarlyExit, parse_ending
from megtrim.util.errors import InputError
from megtrim.util.strict_json import dump

ENDING = EarlyExit(exit=2, message="megtrim.yaml: no models", hint="add one")


def test_an_ending_comes_back_as_it_went() -> None:
    what = {"exit": 2, "message": "megtrim.yaml: no models", "hint": "add one"}
    text = json.dumps({"version": 2, "config": "megtrim.yaml", **what}, indent=1) + "\n"

    assert dump(ENDING) == text
    assert parse_ending(text, source="x") == ENDING
    assert str(ENDING) == "megtrim.yaml: no models\n  add one"
    assert str(EarlyExit(exit=3, message="no space", hint="")) == "no space"


@pytest.mark.parametrize(
    ("status", "fits"), [*((each, True) for each in (1, 2, 3, 70, 130)), (0, False), (4, False)]
)
def test_a_good_ending_is_none(status: int, *, fits: bool) -> None:
    """A run that left no verdict and exits 0 would open the gate."""
    text = dump(ENDING).replace('"exit": 2', f'"exit": {status}')
    if fits:
        assert parse_ending(text, source="ending.json").exit == status
        return
    with pytest.raises(InputError, match="exit: found"):
        parse_ending(text, source="ending.json")
