"""Which devices stand for a CPU class, by configuration, by ``--device`` and by a bundle."""

import os
from pathlib import Path
from typing import Any

import pytest

from megtrim import devices
from megtrim.cli.session import device_specs
from megtrim.cli.session.device_specs import DeviceDefaults, make_bundle_specs, standing_for
from megtrim.config.device import CoolDown, DeviceSettings, PowerPort
from megtrim.config.load import LoadedConfig, load_config
from megtrim.devices import DeviceSpec
from megtrim.devices.pool import device_pool
from megtrim.evidence.bundle import BundleDevice
from megtrim.util.errors import InputError
from megtrim.util.process import ProcessRunner
from unit.cli.support import SAMPLE_MODEL

RUNNERS = """\
version: 1
engine: {kind: sample}
classes:
- {name: a53, qemu_cpu: cortex-a53}
- {name: a76, qemu_cpu: cortex-a76}
- {name: none, qemu_cpu: max}
devices:
- {name: phone, kind: local, class: a53, runner: true}
- {name: other, kind: local, class: a53, runner: true}
- {name: tablet, kind: local, class: a76, runner: true}
- {name: desk, kind: qemu, class: a76, sysroot: roots}
- {name: second, kind: qemu, class: a76}
models:
- {name: m, file: m.mge, scenarios: [{name: s}]}
"""
ROOM = """\
version: 1
engine: {kind: sample}
classes:
- {name: a53, qemu_cpu: cortex-a53}
- {name: a76}
devices:
- {name: one, kind: adb, class: a53, serial: 1A}
- {name: board, kind: ssh, class: a53, host: board}
- {name: far, kind: adb, class: a53, serial: 2B, runner: true}
- {name: two, kind: adb, class: a53, match: {ro.product.model: Pixel 6}}
- {name: qemu, kind: local, class: a76}
models:
- {name: m, file: m.mge, scenarios: [{name: s}]}
"""
FULL = """\
version: 1
engine: {kind: sample}
devices:
- name: phone
  kind: adb
  class: any
  match: {ro.z: 1, ro.a: b}
  power: {hub: 1-1.4, port: 2}
  cool_down: {below: 38.5}
  governor: performance
  cpus: 4-7
  sysroot: roots
- {name: board, kind: ssh, class: any, host: b, port: 2222, user: pi, key: k, known_hosts: ~/h}
models:
- {name: m, file: m.mge, scenarios: [{name: s}]}
"""


def loaded(folder: Path, text: str) -> LoadedConfig:
    (folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (folder / "megtrim.yaml").write_text(text, encoding="utf-8")
    return load_config(folder / "megtrim.yaml")


def around(folder: Path) -> DeviceDefaults:
    return DeviceDefaults(
        processes=ProcessRunner(os.environ),
        scratch=folder / "runs",
        machine="aarch64",
        sysroot=Path("/its/own"),
        say=lambda _text: None,
    )


def names(found: Any) -> dict[str, list[str]]:
    return {name: [each.name for each in entries] for name, entries in found.items()}


def test_what_is_attached_to_a_runner_is_never_used_here(tmp_path: Path) -> None:
    config = loaded(tmp_path, RUNNERS)

    found = standing_for(config, None)

    assert names(found) == {"a76": ["desk"], "a53": ["auto-a53"]}
    specs = device_specs.make_device_specs(config, around(tmp_path), (*found["a76"], *found["a53"]))
    assert [(entry.kind, spec.name, spec.qemu_cpu, spec.sysroot) for entry, spec in specs] == [
        ("qemu", "desk", "cortex-a76", tmp_path / "roots"),
        ("auto", "auto-a53", "cortex-a53", Path("/its/own")),
    ]
    assert [spec.cpu_class for _, spec in specs] == ["a76", "a53"]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (None, {"a53": ["one", "two"], "a76": ["qemu"]}),
        ("two", {"a53": ["two"], "a76": ["qemu"]}),
        ("board", {"a53": ["board"], "a76": ["qemu"]}),
        ("far", {"a53": ["far"], "a76": ["qemu"]}),
        ("qemu", {"a76": ["qemu"], "a53": ["one", "two"]}),
        ("adb", {"a53": ["one", "far", "two"], "a76": ["qemu"]}),
        ("ssh", {"a53": ["board"], "a76": ["qemu"]}),
        ("local", {"a76": ["qemu"], "a53": ["local-a53"]}),
        ("auto", {"a53": ["auto-a53"], "a76": ["auto-a76"]}),
    ],
)
def test_devices_of_a_class_and_kind_are_a_pool(
    tmp_path: Path, asked: str | None, expected: dict[str, list[str]]
) -> None:
    found = names(standing_for(loaded(tmp_path, ROOM), asked))
    # A probe, which has no class, runs on the first.
    assert [*found.items()] == [*expected.items()]


@pytest.mark.parametrize("kind", ["virtual-phone", "qemu", "local", "auto"])
def test_a_kind_needs_no_entry(tmp_path: Path, kind: str) -> None:
    config = loaded(tmp_path, FULL[: FULL.index("devices:")] + FULL[FULL.index("models:") :])

    found = standing_for(config, kind)

    assert names(found) == {"any": [kind]}
    assert found["any"][0].kind == kind


@pytest.mark.parametrize(
    ("text", "asked", "message"),
    [
        (ROOM, "virtual-phone", "virtual-phone: class a76 names no CPU to emulate"),
        (ROOM, "boart", "found 'boart', expected a device or a kind (did you mean board?)"),
        (ROOM, "-x", "found '-x', expected a device or a kind"),
        (RUNNERS, "adb", "no device of kind adb is in "),
    ],
)
def test_what_no_one_knows_is_refused(tmp_path: Path, text: str, asked: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        standing_for(loaded(tmp_path, text), asked)

    assert message in caught.value.message


def test_an_order_holds_all_that_is_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    config = loaded(tmp_path, FULL)

    specs = device_specs.make_device_specs(config, around(tmp_path), config.config.devices)

    phone, board = (spec for _, spec in specs)
    assert phone.settings == DeviceSettings(
        sysroot=tmp_path / "roots",
        match={"ro.z": "1", "ro.a": "b"},
        power=PowerPort(hub="1-1.4", port=2),
        cool_down=CoolDown.model_construct(below_c=38.5, within_s=600.0),
        governor="performance",
        cpus="4-7",
    )
    assert (phone.sysroot, board.sysroot) == (tmp_path / "roots", Path("/its/own"))
    assert board.settings == DeviceSettings(
        host="b", port=2222, user="pi", key=tmp_path / "k", known_hosts=Path("/home/me/h")
    )


def test_an_order_holds_all_that_a_bundle_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: Path("/home/me"))
    settings = DeviceSettings(
        sysroot=Path("/roots"),
        host="b",
        port=2222,
        user="pi",
        key=Path("~/.ssh/k"),
        known_hosts=Path("/etc/h"),
        power=PowerPort(hub="1-1", port=3),
        cool_down=CoolDown.model_construct(below_c=40.0, within_s=60.0),
        governor="powersave",
        cpus="0",
    )
    board = BundleDevice(
        name="board",
        kind="ssh",
        cpu_class="a53",
        qemu_cpu="cortex-a53",
        runner=True,
        settings=settings,
    )

    [spec] = make_bundle_specs(around(tmp_path), [board])

    assert (spec.name, spec.qemu_cpu, spec.cpu_class) == ("board", "cortex-a53", "a53")
    assert (spec.machine, spec.scratch) == ("aarch64", tmp_path / "runs")
    assert spec.sysroot == Path("/roots")
    assert spec.settings == settings.model_copy(update={"key": Path("/home/me/.ssh/k")})


def test_no_home_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_one() -> Path:
        msg = "Could not determine home directory."
        raise RuntimeError(msg)

    monkeypatch.setattr(Path, "home", no_one)
    config = loaded(tmp_path, FULL)

    with pytest.raises(InputError) as caught:
        device_specs.make_device_specs(config, around(tmp_path), config.config.devices)

    assert caught.value.message == "~/h: this user has no home folder"


def test_several_orders_are_joined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[tuple[str, str, str]] = []

    def make(kind: str, spec: DeviceSpec, *, native: str) -> str:
        made.append((kind, spec.name, native))
        return spec.name

    monkeypatch.setattr(devices, "make", make)
    monkeypatch.setattr(device_pool, "merge_devices", "+".join)
    config = loaded(tmp_path, ROOM)
    entries = standing_for(config, "adb")["a53"]
    specs = [spec for _, spec in device_specs.make_device_specs(config, around(tmp_path), entries)]

    device: Any = device_specs.make("adb", specs, native="x86_64")

    assert device == "one+far+two"
    assert made == [("adb", name, "x86_64") for name in ("one", "far", "two")]
