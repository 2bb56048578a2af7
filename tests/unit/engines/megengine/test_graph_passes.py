"""What the engine puts into a graph, against real traces and the names of its operators."""

import pytest

from megtrim.engines.megengine.graph_passes import INSERTED
from megtrim.engines.megengine.models.registry import REGISTERED
from megtrim.engines.midout.trace import parse_trace
from support.upstream import DATA


def find_inserted(name: str) -> set[str]:
    path = DATA / "traces" / f"{name}.trace"
    regions = parse_trace(path.read_bytes(), source=name).regions
    return {each for region in regions for each in INSERTED.get(region, ())}


@pytest.mark.parametrize("options", ["nchw44", "nchw44dot"])
@pytest.mark.parametrize("model", ["resnet-int8", "mobilenet-int8"])
def test_a_layout_pads_the_channels_of_an_int8_model(model: str, options: str) -> None:
    """Without Concat among the registered operators, 1.13 crashed with each of the four."""
    assert find_inserted(f"{model}.{options}") >= {"Concat", "RelayoutFormat", "Subtensor"}


@pytest.mark.parametrize("model", ["resnet-int8", "mobilenet-int8", "resnet18-s", "mobilenet-s"])
@pytest.mark.parametrize("options", ["plain", "cached"])
def test_without_such_an_option_nothing_is_added(model: str, options: str) -> None:
    assert find_inserted(f"{model}.{options}") == set()


def test_the_global_layout_transform_inserts_relayouts() -> None:
    assert "RelayoutFormat" in find_inserted("resnet18-s.layout")


def test_every_name_is_a_class_of_the_engine() -> None:
    """A header declares each as a class: an alias such as ConvBias would not compile."""
    classes = {kind.name for kind in REGISTERED.values()}
    inserted = {name for names in INSERTED.values() for name in names}

    assert inserted <= classes
