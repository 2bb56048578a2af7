import pytest

from device_host.conftest import Host

UNITS = ("megtrim-adb.service", "megtrim-jit@1.service", "megtrim-runner@1.service")
ADB = 'ENV{ID_USB_INTERFACES}=="*:ff4201:*"'
OPEN = 'GROUP="megtrim-adb", MODE="0660"'
MOST_EXPOSURE = "20"
"""Of 100; systemd calls anything below 50 fine."""


@pytest.fixture(scope="module")
def host(image: Host) -> Host:
    image.give_token()
    done = image.set_up()
    assert done.rc == 0, done.stderr
    return image


def test_units_are_valid(host: Host) -> None:
    reported = host.run("systemd-analyze", "verify", *(f"/etc/systemd/system/{u}" for u in UNITS))

    assert (reported.rc, reported.stderr) == (0, "")


@pytest.mark.parametrize("unit", UNITS)
def test_units_are_hardened(host: Host, unit: str) -> None:
    judge = ("systemd-analyze", "security", "--offline=yes", f"--threshold={MOST_EXPOSURE}")
    reported = host.run(*judge, unit)

    assert reported.rc == 0, reported.stdout[-300:]


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ((), f"{ADB}, {OPEN}"),
        (
            ("--usb-vendor", "18d1", "--usb-vendor", "04e8"),
            f'{ADB}, ATTR{{idVendor}}=="04e8|18d1", {OPEN}',
        ),
    ],
    ids=["any vendor", "two vendors"],
)
def test_rules_are_valid(host: Host, options: tuple[str, ...], rule: str) -> None:
    assert host.set_up(*options).rc == 0

    rules = "/etc/udev/rules.d/60-megtrim-phones.rules"
    reported = host.run("udevadm", "verify", rules)
    assert reported.rc == 0, reported.stdout + reported.stderr
    assert rule in host.text("cat", rules).splitlines()
