from pathlib import Path

from megtrim.config.scenarios import all_scenarios, scenario_id, without_device
from unit.config.support import ENGINE, load

TEXT = (
    ENGINE
    + """\
classes: [{name: b, qemu_cpu: cortex-a76}, {name: a}]
devices: [{name: d, class: b}]
models:
  - name: z
    file: m.mge
    scenarios:
      - name: two
        classes: [a, b]
      - name: one
  - name: y
    file: m.mge
    scenarios: [{name: only, classes: [b]}]
"""
)


def test_an_id_is_model_scenario_class() -> None:
    assert scenario_id("m", "s", "c") == "m/s@c"


def test_scenarios_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, TEXT)
    scenarios = list(all_scenarios(loaded.config))

    assert [(each.id, loaded.line(*each.path)) for each in scenarios] == [
        ("z/two@a", 9),
        ("z/two@b", 9),
        ("z/one@b", 11),
        ("z/one@a", 11),
        ("y/only@b", 14),
    ]
    assert scenarios[1].cpu_class.qemu_cpu == "cortex-a76"
    assert (scenarios[4].model.name, scenarios[4].settings.name) == ("y", "only")
    assert scenarios[4].names == ("y/only@b", "y/only")


def test_scenarios_without_a_device_are_known(tmp_path: Path) -> None:
    config = load(tmp_path, TEXT).config

    assert [each.id for each in without_device(config)] == ["z/two@a", "z/one@a"]
