import dataclasses
from pathlib import Path

import pytest
import set_up
from host.desired import HostSpec, HostState, fill, list_items, make_values
from host.items import Item

SPEC = HostSpec(
    user="lab",
    cpu_class="armv82",
    scope="repos/team/models",
    runner_group=1,
    runners=2,
    runner_archive=Path("/root/runner.tar.gz"),
    runner_sha256="0123456789abcdef" * 4,
    adb=Path("/usr/bin/adb"),
    checkout=Path("/opt/megtrim"),
)
STATE = HostState(is_booted=True, is_drained=False, icu="libicu72")
TEXTS = set_up.read_templates()
CURRENT = Path("/opt/megtrim-host/runner-0123456789abcdef")
OLD = CURRENT.with_name("runner-old")
EVERYONE = {"systemd", "udev", "adb"}
PROXY = dataclasses.replace(SPEC, proxy="http://proxy:3128")
HUB = dataclasses.replace(SPEC, power_hubs=(("2109", "2817"),))
UDEV = "60-megtrim-phones.rules"
RUNNER, JIT, ADB = (f"megtrim-{name}.service" for name in ("runner@", "jit@", "adb"))


def items(spec: HostSpec = SPEC, state: HostState = STATE) -> dict[str, Item]:
    return {item.name: item for item in list_items(spec, state, TEXTS)}


def text(name: str, spec: HostSpec = SPEC) -> str:
    return fill(TEXTS[name], make_values(spec, CURRENT, TEXTS["sandbox"]))


def test_users_come_before_their_folders_and_units_last() -> None:
    names = list(items())

    assert names.index("user lab-adb") < names.index("folder /var/lib/megtrim-host/adb")
    assert [name for name, item in items().items() if item.is_unit] == [
        "unit megtrim-adb.service",
        "unit megtrim-runner@1.service",
        "unit megtrim-runner@2.service",
    ]


@pytest.mark.parametrize(
    ("file", "programs"),
    [
        (f"/etc/udev/rules.d/{UDEV}", ["udevadm", "udevadm", "udevadm"]),
        (f"/etc/systemd/system/{RUNNER}", ["systemctl"]),
        (f"/etc/systemd/system/{ADB}", ["systemctl", "systemctl"]),
        ("/etc/megtrim-host/environment", []),
    ],
)
def test_only_readers_of_a_changed_file_are_notified(file: str, programs: list[str]) -> None:
    """A job that runs is not disturbed by a change that does not concern it."""
    changes = [(items()[f"file {file}"], ("missing",))]

    assert [argv[0] for argv in set_up.list_commands(changes, EVERYONE)] == programs
    assert set_up.list_commands(changes, set()) == []


@pytest.mark.parametrize(
    ("name", "spec", "lines"),
    [
        # Jobs run as neither: the token is one user's, USB is another's.
        (RUNNER, SPEC, "User=lab\n"),
        (RUNNER, SPEC, "PrivateDevices=yes\n"),
        (JIT, SPEC, "User=lab-jit\nGroup=lab\n"),
        (JIT, SPEC, "LoadCredential=github-token:/etc/megtrim-host/github-token\n"),
        (ADB, SPEC, "User=lab-adb\n"),
        (ADB, SPEC, "DeviceAllow=char-usb_device rw\n"),
        (ADB, SPEC, "IPAddressDeny=any\nIPAddressAllow=localhost\n"),
        # What the workflow's `runs-on` asks for.
        ("registration", SPEC, "MEGTRIM_LABELS=self-hosted,megtrim,armv82\n"),
        ("registration", SPEC, "MEGTRIM_SCOPE=repos/team/models\n"),
        ("environment", SPEC, "MEGTRIM_ADB=/usr/bin/adb\n"),
        ("environment", SPEC, "MEGTRIM_STATE=/var/lib/megtrim-host/state\n"),
        ("environment", SPEC, "MEGTRIM_BOARDS=/etc/megtrim-host/boards.yaml\n"),
        # A proxy has every name that programs look for, and is not used for this machine.
        ("environment", PROXY, "https_proxy=http://proxy:3128\n"),
        ("environment", PROXY, "no_proxy=localhost,127.0.0.1\n"),
        ("registration", PROXY, "https_proxy=http://proxy:3128\n"),
        # A hub is opened for jobs; the unit then sees USB, still no other device.
        (UDEV, HUB, 'ATTR{idVendor}=="2109", ATTR{idProduct}=="2817", GROUP="lab", MODE="0660"\n'),
        (RUNNER, HUB, "DevicePolicy=closed\nDeviceAllow=char-usb_device rw\n"),
        *((unit, SPEC, TEXTS["sandbox"]) for unit in (RUNNER, JIT, ADB)),
    ],
)
def test_a_file_holds_these_lines(name: str, spec: HostSpec, lines: str) -> None:
    assert lines in text(name, spec)


@pytest.mark.parametrize(
    ("name", "word"),
    [
        (RUNNER, "LoadCredential"),
        ("environment", "MEGTRIM_HOST_RUNS_PROGRAMS"),
        ("environment", "proxy"),
        ("registration", "proxy"),
        (UDEV, "2109"),
    ],
)
def test_a_file_does_not_hold(name: str, word: str) -> None:
    assert word not in text(name)


def test_a_runner_is_registered_after_phones_and_workspace_are_clean() -> None:
    """In this order: a job must not arrive before that."""
    lines = text(RUNNER).splitlines()
    steps = [line.split("=", 1)[1].split() for line in lines if line.startswith("ExecSt")]

    assert [" ".join(step[:3]).removeprefix("/usr/local/lib/megtrim-host/") for step in steps] == [
        "workspace.sh fill /var/lib/megtrim-host/runners/%i",
        "/opt/megtrim/.venv/bin/megtrim devices clean",
        "+/usr/bin/systemctl start megtrim-jit@%i.service",
        "job.sh /run/megtrim-host/jit/%i/config /var/lib/megtrim-host/runners/%i/runner",
        "-/opt/megtrim/.venv/bin/megtrim devices clean",
        "workspace.sh empty /var/lib/megtrim-host/runners/%i",
    ]


@pytest.mark.parametrize(
    ("spec", "state", "more"),
    [
        (HUB, {}, ["package uhubctl"]),
        (SPEC, {"runners": (CURRENT, OLD)}, [f"old folder {OLD}"]),
        (SPEC, {"instances": (1, 2, 3)}, ["unit megtrim-runner@3.service"]),
        (SPEC, {"other_adbs": (Path("/usr/local/bin/adb"),)}, ["/usr/local/bin/adb"]),
    ],
)
def test_what_lies_around_decides_what_else_is_needed(
    spec: HostSpec, state: dict[str, tuple[object, ...]], more: list[str]
) -> None:
    changed = dataclasses.replace(STATE, **state)  # type: ignore[arg-type]

    assert sorted(items(spec, changed).keys() - items().keys()) == more


def test_a_drained_host_has_no_running_runner() -> None:
    drained = items(state=dataclasses.replace(STATE, is_drained=True))
    running = [name for name, item in drained.items() if "now" in (item.desired or {})]

    assert running == ["unit megtrim-adb.service"]


def test_only_a_person_provides_the_token() -> None:
    assert items()["/etc/megtrim-host/github-token"].make is None


def test_a_template_with_an_unknown_place_is_our_mistake() -> None:
    assert fill("a @user@ megtrim-jit@%i @system-service\n\n", {"user": "lab"}) == (
        "a lab megtrim-jit@%i @system-service\n"
    )
    with pytest.raises(KeyError, match="no_one"):
        fill("@no_one@", {})
