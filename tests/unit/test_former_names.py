"""Names of modules in 0.2, which scripts of teams may import for one version."""

import importlib

import pytest

from megtrim.former_names import find_present
from megtrim.ship.crashes import lookup


def test_a_former_name_is_the_same_module() -> None:
    with pytest.warns(DeprecationWarning, match="megtrim.crashes is megtrim.ship.crashes now"):
        found = importlib.import_module("megtrim.crashes.lookup")

    assert found is lookup
    assert lookup.__spec__ is not None
    assert lookup.__spec__.name == "megtrim.ship.crashes.lookup"


def test_a_module_that_left_its_package_is_found() -> None:
    assert find_present("megtrim.models.facts") == "megtrim.core.model_facts"
    assert find_present("megtrim.models.mge") == "megtrim.engines.megengine.models.mge"


@pytest.mark.parametrize("name", ["megtrim.core.size", "megtrim.nothing", "size.rows", "megtrim"])
def test_other_names_are_left_alone(name: str) -> None:
    assert find_present(name) == ""


def test_a_module_that_left_its_package_is_found_where_it_is() -> None:
    assert find_present("megtrim.regions.keepset") == "megtrim.core.keep.keepset"
    assert find_present("megtrim.regions.trace") == "megtrim.engines.midout.trace"
    assert find_present("megtrim.regions") == "megtrim.engines.midout"
