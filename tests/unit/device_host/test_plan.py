"""From what is wanted and seen to what has to be done: values in, values out."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
import set_up
from host.desired_state import HostState, fill, list_desired
from host.plan import plan
from host.resources import (
    AdbServer,
    Facts,
    File,
    Folder,
    Old,
    Package,
    Prerequisite,
    Resource,
    Runner,
    Touches,
    Unit,
    User,
    differences,
)
from host.spec import HostSpec

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
STATE = HostState(
    booted=True,
    listeners=(Touches.SYSTEMD, Touches.UDEV, Touches.ADB_SERVER),
    drained=False,
    icu="libicu72",
)
TEXTS = set_up.templates()


def _desired(spec: HostSpec = SPEC, state: HostState = STATE) -> tuple[Resource, ...]:
    return list_desired(spec, state, TEXTS)


def _text(name: str, spec: HostSpec = SPEC) -> str:
    files = {item.path.name: item.content for item in _desired(spec) if isinstance(item, File)}
    return files[name]


def _as_desired(items: tuple[Resource, ...]) -> list[tuple[Resource, Facts | None]]:
    return [(item, None if isinstance(item, Old) else item.facts()) for item in items]


def test_a_machine_as_it_should_be_needs_nothing() -> None:
    """No change, and no one to notify."""
    made = plan(_as_desired(_desired()), listeners=STATE.listeners)

    assert (made.changes, made.tell) == ((), ())


def test_an_empty_machine_needs_everything_units_last() -> None:
    """Users before their folders, files before services are notified, then the units."""
    items = _desired()
    made = plan([(item, None) for item in items], listeners=STATE.listeners)

    assert {change.resource for change in made.changes} == set(items)
    assert [str(change.resource) for change in made.units] == [
        "unit megtrim-adb.service",
        "adb server on port 5037",
        "unit megtrim-runner@1.service",
        "unit megtrim-runner@2.service",
    ]
    assert made.tell == (
        ("systemctl", "daemon-reload"),
        ("udevadm", "control", "--reload"),
        ("udevadm", "trigger", "--subsystem-match=usb", "--action=change"),
        ("udevadm", "settle", "--timeout=30"),
        ("systemctl", "try-restart", "megtrim-adb.service"),
    )
    names = [str(change.resource) for change in made.files]
    assert names.index("user lab-adb") < names.index("folder /var/lib/megtrim-host/adb")


@pytest.mark.parametrize(
    ("file", "tell"),
    [
        ("/etc/udev/rules.d/60-megtrim-phones.rules", ["udevadm", "udevadm", "udevadm"]),
        ("/etc/systemd/system/megtrim-runner@.service", ["systemctl"]),
        ("/etc/systemd/system/megtrim-adb.service", ["systemctl", "systemctl"]),
        ("/etc/megtrim-host/environment", []),
    ],
)
def test_only_readers_of_a_changed_file_are_notified(file: str, tell: list[str]) -> None:
    """A job that runs is not disturbed by a change that does not concern it."""
    actual: list[tuple[Resource, Facts | None]] = []
    for item, facts in _as_desired(_desired()):
        gone = isinstance(item, File) and item.path == Path(file)
        actual.append((item, None if gone else facts))
    made = plan(actual, listeners=STATE.listeners)

    assert [str(change.resource) for change in made.changes] == [f"file {file}"]
    assert [argv[0] for argv in made.tell] == tell
    assert plan(actual, listeners=()).tell == ()


@pytest.mark.parametrize(
    ("item", "actual", "lines"),
    [
        (Package(name="git"), None, ("missing",)),
        (Package(name="git"), {"state": "installed"}, ()),
        (
            User(name="lab", home=Path("/nonexistent")),
            {
                "home": "/nonexistent",
                "shell": "/bin/bash",
                "password": "locked",
                "groups with power": "docker, sudo",
            },
            (
                "shell: found /bin/bash, expected /usr/sbin/nologin",
                "groups with power: found docker, sudo, expected none",
            ),
        ),
        (
            Folder(path=Path("/x"), mode="0700"),
            {"owner": "root", "group": "root", "mode": "0777"},
            ("mode: found 0777, expected 0700",),
        ),
        (
            File(path=Path("/x"), content="a\nb\nc\n"),
            {"owner": "root", "group": "root", "mode": "0644", "content": "a\nB\nc\n"},
            ("content differs", "-B", "+b"),
        ),
        (Old(path=Path("/x")), None, ()),
        (Old(path=Path("/x")), {}, ("not needed any more",)),
        (Unit(name="u", running=False), {"at boot": "enabled"}, ()),
        (
            Unit(name="u", running=True),
            {"at boot": "enabled", "now": "failed"},
            ("now: found failed, expected active",),
        ),
        (
            AdbServer(adb=Path("/usr/bin/adb")),
            {"answers as": "version 41, the client is 39"},
            ("answers as: found version 41, the client is 39, expected the version of its client",),
        ),
    ],
    ids=str,
)
def test_a_difference_says_what_was_found(
    item: Resource, actual: Facts | None, lines: tuple[str, ...]
) -> None:
    """And what was expected; of a file, the lines that differ."""
    assert differences(item, actual) == lines


def test_who_has_the_token_and_who_the_phones() -> None:
    """Jobs run as neither: the token is one user's, USB is another's."""
    runner, jit, adb = (_text(f"megtrim-{name}.service") for name in ("runner@", "jit@", "adb"))

    assert "User=lab\n" in runner
    assert "LoadCredential" not in runner
    assert "PrivateDevices=yes\n" in runner
    assert "User=lab-jit\nGroup=lab\n" in jit
    assert "LoadCredential=github-token:/etc/megtrim-host/github-token\n" in jit
    assert "User=lab-adb\n" in adb
    assert "DeviceAllow=char-usb_device rw\n" in adb
    assert "IPAddressDeny=any\nIPAddressAllow=localhost\n" in adb


def test_a_runner_is_registered_after_phones_and_workspace_are_clean() -> None:
    """In this order: a job must not arrive before that."""
    lines = _text("megtrim-runner@.service").splitlines()
    steps = [line.split("=", 1)[1].split() for line in lines if line.startswith("ExecSt")]

    assert [" ".join(step[:3]).removeprefix("/usr/local/lib/megtrim-host/") for step in steps] == [
        "workspace.sh fill /var/lib/megtrim-host/runners/%i",
        "/opt/megtrim/.venv/bin/megtrim devices clean",
        "+/usr/bin/systemctl start megtrim-jit@%i.service",
        "job.sh /run/megtrim-host/jit/%i/config /var/lib/megtrim-host/runners/%i/runner",
        "-/opt/megtrim/.venv/bin/megtrim devices clean",
        "workspace.sh empty /var/lib/megtrim-host/runners/%i",
    ]


def test_every_unit_has_the_whole_sandbox() -> None:
    """No unit is left out when a limit is added."""
    for name in ("megtrim-runner@.service", "megtrim-jit@.service", "megtrim-adb.service"):
        assert TEXTS["sandbox"] in _text(name)


def test_labels_and_scope_of_a_registration() -> None:
    """What the workflow's `runs-on` asks for."""
    assert "MEGTRIM_LABELS=self-hosted,megtrim,armv82\n" in _text("registration")
    assert "MEGTRIM_SCOPE=repos/team/models\n" in _text("registration")
    assert "MEGTRIM_ADB=/usr/bin/adb\n" in _text("environment")
    assert "MEGTRIM_STATE=/var/lib/megtrim-host/state\n" in _text("environment")
    assert "MEGTRIM_BOARDS=/etc/megtrim-host/boards.yaml\n" in _text("environment")
    assert "MEGTRIM_HOST_RUNS_PROGRAMS" not in _text("environment")


def test_a_proxy_reaches_jobs_and_registration() -> None:
    """Under all the names that programs look for, and never for this machine itself."""
    spec = dataclasses.replace(SPEC, proxy="http://proxy:3128")
    for name in ("environment", "registration"):
        assert "https_proxy=http://proxy:3128\n" in _text(name, spec)
        assert "no_proxy=localhost,127.0.0.1\n" in _text(name, spec)
        assert "proxy" not in _text(name)


def test_a_hub_is_opened_for_jobs_and_nothing_else_is() -> None:
    """Its rule names vendor and product; the unit then sees USB, still no other device."""
    spec = dataclasses.replace(SPEC, power_hubs=(("2109", "2817"),))
    rule = 'ATTR{idVendor}=="2109", ATTR{idProduct}=="2817", GROUP="lab", MODE="0660"\n'

    assert rule in _text("60-megtrim-phones.rules", spec)
    assert "DevicePolicy=closed\nDeviceAllow=char-usb_device rw\n" in _text(
        "megtrim-runner@.service", spec
    )
    assert Package(name="uhubctl") in _desired(spec)
    assert "2109" not in _text("60-megtrim-phones.rules")


def test_what_lies_around_decides_what_else_is_wanted() -> None:
    """Runners of older archives, instances too many, a second adb."""
    current = next(item.path for item in _desired() if isinstance(item, Runner))
    state = dataclasses.replace(
        STATE,
        runners=(current, Path("/opt/megtrim-host/runner-old")),
        instances=(1, 2, 3),
        other_adbs=(Path("/usr/local/bin/adb"),),
    )
    more = [item for item in _desired(state=state) if item not in _desired()]

    assert [str(item) for item in more] == [
        "/usr/local/bin/adb",
        "unit megtrim-runner@3.service",
        "old folder /opt/megtrim-host/runner-old",
    ]


def test_a_drained_host_has_no_running_runner() -> None:
    """The adb server stays."""
    drained = _desired(state=dataclasses.replace(STATE, drained=True))
    running = {item.name: item.running for item in drained if isinstance(item, Unit)}

    assert running == {
        "megtrim-adb.service": True,
        "megtrim-runner@1.service": False,
        "megtrim-runner@2.service": False,
    }


def test_only_a_person_brings_the_token() -> None:
    """The plan says so; no program makes it."""
    token = next(item for item in _desired() if isinstance(item, Prerequisite))
    made = plan([(token, None)], listeners=())

    assert token.path == Path("/etc/megtrim-host/github-token")
    assert made.changes[0].by_a_person


def test_a_template_with_an_unknown_place_is_our_mistake() -> None:
    """It must not reach a machine."""
    assert fill("a @user@ megtrim-jit@%i @system-service\n\n", {"user": "lab"}) == (
        "a lab megtrim-jit@%i @system-service\n"
    )
    with pytest.raises(KeyError, match="no_one"):
        fill("@no_one@", {})


def test_equal_orders_give_equal_hosts() -> None:
    """Byte by byte."""
    assert _desired() == _desired()
