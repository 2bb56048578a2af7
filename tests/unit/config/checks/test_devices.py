"""Keys of a device fit its kind, and each kind has what it cannot do without."""

from __future__ import annotations

import pytest

from megtrim.config.checks.devices import device_problems
from unit.config.checks.found import found_by


def device(entry: str, classes: str = "[{name: c, qemu_cpu: cortex-a53}]") -> list[str]:
    return found_by(device_problems, f"classes: {classes}\ndevices: [{{name: d, {entry}}}]\n")


@pytest.mark.parametrize(
    "entry",
    [
        "class: c",
        "kind: local",
        "kind: qemu, class: c",
        "kind: adb, serial: A1",
        "kind: adb, match: {ro.product.model: Pixel}",
        "kind: ssh, host: board, known_hosts: ~/hosts, runner: true",
        "kind: ssh, host: board, known_hosts: keys/board",
        "kind: unknown, host: h",
    ],
)
def test_a_device_with_its_own_keys_is_accepted(entry: str) -> None:
    """An unknown kind is the model's to report."""
    assert device(entry) == []


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("kind: adb", "devices[0]: found a device of kind adb without a phone, expected serial"),
        (
            "kind: adb, serial: A1, match: {a: b}",
            "devices[0].match: found both match and serial, expected one of them",
        ),
        (
            "kind: ssh",
            (
                "devices[0].host: found a device of kind ssh without host, expected host, "
                "the board's name or address"
            ),
        ),
        (
            "kind: adb, serial: A1, host: board",
            (
                "devices[0].host: found a key of kind ssh on a device of kind adb, "
                "expected a key of kind adb: name, kind, class, runner, "
            ),
        ),
        (
            "host: board",
            "devices[0].host: found a key of kind ssh on a device of kind auto",
        ),
        (
            "kind: ssh, host: board, known_hosts: keys/board, runner: true",
            (
                "devices[0].known_hosts: found 'keys/board' of a runner's device, "
                "expected a path that the runner has: /... or ~/..."
            ),
        ),
    ],
)
def test_a_key_that_does_not_fit_is_reported_with_the_kind(entry: str, problem: str) -> None:
    """And with the keys that the kind has."""
    [found] = device(entry)

    assert found.startswith(f"f:2: {problem}")


def test_an_emulator_needs_the_cpu_of_its_class() -> None:
    """Another CPU would choose other kernels; a class that is missing is reported elsewhere."""
    [found] = device("kind: qemu, class: c", classes="[{name: c}]")

    assert found == (
        "f:2: devices[0].class: found 'c', a class without qemu_cpu, on a device of kind qemu, "
        "expected a class with qemu_cpu"
    )
    assert device("kind: qemu, class: other", classes="[{name: c}]") == []
