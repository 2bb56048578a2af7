from pathlib import Path

import pytest

from megtrim.core.config.limits import Budget
from megtrim.core.config.load import list_toolchains
from megtrim.core.config.model import Config
from megtrim.core.config.problems import ConfigError
from megtrim.core.config.scenarios import all_scenarios, without_device
from unit.core.config.support import ENGINE, SMALL, load

TOOLCHAINS = """\
toolchains:
  - {name: phone, kind: ndk, api: 30, trim: {relocations: relr}, baseline: phone.json}
  - name: desk
    kind: host
"""
TEXT = """\
classes:
  - {name: a55, qemu_cpu: cortex-a55, toolchains: [phone]}
  - {name: any, toolchains: [desk]}
devices:
  - {name: pixel, kind: adb, serial: A1, class: a55, toolchains: [phone]}
models:
  - {name: small, file: m.mge, toolchains: [phone], scenarios: [{name: s}]}
  - name: m
    file: m.mge
    scenarios:
      - {name: quick, toolchains: [phone]}
      - {name: many, threads: [1, 4]}
      - {name: last, args: [--cpu, --iter, 2], toolchains: [desk]}
trim: {optimize: size}
budgets:
  - {artifact: load_and_run, max: 1 MiB, toolchains: [phone]}
  - {artifact: load_and_run, max: 2 MiB, toolchains: [desk]}
"""
WHOLE = ENGINE + TOOLCHAINS + TEXT


def names(config: Config) -> list[str]:
    return [each.id for each in all_scenarios(config)]


def test_each_toolchain_has_what_is_for_it(tmp_path: Path) -> None:
    phone = load(tmp_path, WHOLE, "phone").config
    desk = load(tmp_path, WHOLE, "desk").config

    assert (phone.toolchain.kind, phone.toolchain.api, desk.toolchain.kind) == ("ndk", 30, "host")
    assert (phone.trim.relocations, phone.trim.optimize) == ("relr", "none")
    assert (desk.trim.relocations, desk.trim.optimize) == (None, "size")
    assert (str(phone.baseline), desk.baseline) == ("phone.json", None)
    assert names(phone) == [
        "small/s@a55",
        "m/quick@a55",
        "m/many-threads-1@a55",
        "m/many-threads-4@a55",
    ]
    assert names(desk) == ["m/many-threads-1@any", "m/many-threads-4@any", "m/last@any"]
    assert [each.name for each in phone.devices] == ["pixel"]
    assert [(each.name, each.kind) for each in desk.devices] == [("auto", "auto")]
    limits = [str(each.max_size) for each in (*phone.budgets, *desk.budgets)]
    assert limits == ["1048576 B", "2097152 B"]
    assert str(phone.keep_set) == "megtrim/keepset/phone"


def test_times_are_of_what_is_for_a_toolchain(tmp_path: Path) -> None:
    perf = "perf: {classes: [a55, any], scenarios: [small/s, m/many-threads-4]}\n"
    phone = load(tmp_path, WHOLE + perf, "phone").config.perf
    desk = load(tmp_path, WHOLE + perf, "desk").config.perf

    assert (phone.classes, phone.scenarios) == (("a55",), ("small/s", "m/many-threads-4"))
    assert (desk.classes, desk.scenarios) == (("any",), ("m/many-threads-4",))
    alone = load(tmp_path, WHOLE + "perf: {classes: [a55], threshold: 2%}\n", "desk").config.perf
    assert (alone.classes, alone.threshold) == ((), 0.02)
    # Of what is nowhere they are a mistake.
    with pytest.raises(ConfigError, match=r"perf.classes\[1\]: found 'ani'"):
        load(tmp_path, WHOLE + "perf: {classes: [a55, ani]}\n", "desk")


def test_it_is_as_in_a_file_of_its_own(tmp_path: Path) -> None:
    one = load(tmp_path, SMALL + "toolchain: {kind: zig}\nkeep_set: megtrim/keepset/b\n")
    several = load(tmp_path, SMALL + "toolchains: [{name: a}, {name: b, kind: zig}]\n", "b")

    assert several.config.model_copy(update={"toolchains": ()}) == one.config
    assert several.path == one.path
    given = {"artifact": "x", "max": 1}
    limited = Budget.model_validate(given | {"toolchains": ["b"]})
    assert limited.model_dump_json() == Budget.model_validate(given).model_dump_json()


def test_places_are_those_of_the_file(tmp_path: Path) -> None:
    desk = load(tmp_path, WHOLE, "desk")

    assert desk.line("toolchain", "kind") == 6
    assert desk.show_key("toolchain", "kind") == "toolchains[1].kind"
    assert desk.show_key("models", 0, "scenarios", 2) == "models[1].scenarios[2]"
    assert desk.line("models", 0, "scenarios", 2, "args") == 19
    assert desk.show_key("budgets", 0) == "budgets[1]"
    phone = load(tmp_path, WHOLE, "phone")
    assert phone.show_key("trim", "relocations") == "toolchains[0].trim.relocations"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("kind: host", "kind: hosted", ":6: toolchains[1].kind: found 'hosted'"),
        ("--iter, 2", "--input, x", ":19: models[1].scenarios[2].args[1]: found '--input'"),
        ("name: last", "name: many-threads-4", ":19: models[1].scenarios[2].name: found"),
        ("max: 2 MiB", "max: 2 MB2", ":23: budgets[1].max: found"),
        (
            "trim: {optimize: size}",
            "trim: {relocations: relr}",
            ":20: trim.relocations: found 'relr' with a toolchain of kind host",
        ),
        ("[desk]}\ntrim", "[dekc]}\ntrim", "found 'dekc', expected phone or desk (did you mean"),
        (
            "kind: host",
            "kind: host\n  - name: phone",
            ":7: toolchains[2].name: found 'phone' a sec",
        ),
        ("kind: host", "kind: host\ntoolchain: {kind: zig}", ":7: toolchain: found a key of one"),
    ],
)
def test_a_mistake_has_one_place(tmp_path: Path, old: str, new: str, expected: str) -> None:
    assert old in WHOLE
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, WHOLE.replace(old, new), "desk")

    assert expected in caught.value.message
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("toolchain", "found", "expected"),
    [
        ("", "no choice of one", "--config {0}#phone or {0}#desk"),
        ("desc", "no 'desc'", "phone or desk (did you mean desk?)"),
    ],
)
def test_one_of_several_is_used(tmp_path: Path, toolchain: str, found: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, WHOLE, toolchain)

    file = str(tmp_path / "megtrim.yaml")
    expected = expected.format(file)
    assert caught.value.message == f"{file}:3: toolchains: found {found}, expected {expected}"


def test_a_file_with_one_has_no_choice_and_needs_a_model(tmp_path: Path) -> None:
    """It is a slip, and would else make names that no other run has."""
    with pytest.raises(ConfigError, match="found no toolchains, of which 'desk' was chosen"):
        load(tmp_path, SMALL, "desk")
    with pytest.raises(ConfigError, match=r"found 'desk', expected no such key"):
        load(tmp_path, SMALL + "budgets: [{artifact: load_and_run, max: 5, toolchains: [desk]}]\n")
    alone = SMALL.replace("name: s", "{name: s, toolchains: [b]}")
    with pytest.raises(ConfigError, match="models: found nothing, expected this key, or scenarios"):
        load(tmp_path, alone + "toolchains: [{name: a}, {name: b}]\n", "a")


def test_the_toolchains_of_a_file_are_listed(tmp_path: Path) -> None:
    load(tmp_path, WHOLE, "desk")
    file = tmp_path / "megtrim.yaml"

    assert list_toolchains(file) == ("phone", "desk")
    assert list_toolchains(Path(f"{file}#desk")) == ()
    assert list_toolchains(tmp_path / "other.yaml") == ()
    for text in (SMALL, "[", "toolchains: 5"):
        file.write_text(text, encoding="utf-8")
        assert list_toolchains(file) == ()


ORDER = (
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


def test_scenarios_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, ORDER)
    scenarios = list(all_scenarios(loaded.config))

    assert [(each.id, loaded.line(*each.path)) for each in scenarios] == [
        ("z/two@a", 9),
        ("z/two@b", 9),
        ("z/one@b", 11),
        ("z/one@a", 11),
        ("y/only@b", 14),
    ]
    assert scenarios[1].cpu_class.qemu_cpu == "cortex-a76"
    assert (scenarios[4].own_model.name, scenarios[4].settings.name) == ("y", "only")
    assert scenarios[4].names == ("y/only@b", "y/only")


def test_scenarios_without_a_device_are_known(tmp_path: Path) -> None:
    config = load(tmp_path, ORDER).config

    assert [each.id for each in without_device(config)] == ["z/two@a", "z/one@a"]
