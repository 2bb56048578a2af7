"""A whole device host in a container: set up, checked, broken, mended, and running jobs."""

import pytest

from device_host.conftest import TOKEN, Host, calls

STATE = "/var/lib/megtrim-host/state"
NOTHING = "nothing to change"
FIRST_JOB = [
    "user: megtrim",
    "config: configuration of",
    "read_token: cannot",
    "read_adb_key: cannot",
    "write_system: cannot",
    "write_runner: cannot",
    "become_root: cannot",
    "reach_adb_server: can",
    "see_old_files: cannot",
    "registration_is_there: cannot",
    "end",
]


def _everything(host: Host) -> str:
    places = "/etc /usr/local /opt /var/lib/megtrim-host/adb"
    files = f"find {places} -xdev -type f -not -path '*/__pycache__/*'"
    script = f"{files} -exec sha256sum {{}} + | sort"
    return host.text("sh", "-c", f"{script}; getent passwd")


def test_a_check_changes_nothing(booted: Host) -> None:
    before = _everything(booted)
    reported = booted.set_up("--check")

    assert reported.rc == 3
    assert f"yours to do:  {TOKEN}: missing" in reported.stdout
    assert "would change: user megtrim-adb: missing" in reported.stdout
    assert (
        "would change: file /etc/udev/rules.d/60-megtrim-phones.rules: missing" in reported.stdout
    )
    assert "would run:    systemctl daemon-reload" in reported.stdout
    assert _everything(booted) == before


def test_without_the_token_nothing_is_begun(booted: Host) -> None:
    before = _everything(booted)
    reported = booted.set_up()

    assert reported.rc == 2
    assert "nothing was changed" in reported.stderr
    assert f"install -D -m 0600 /dev/stdin {TOKEN}" in reported.stderr
    assert _everything(booted) == before


def test_set_up_and_again(booted: Host) -> None:
    booted.give_token()
    first = booted.set_up()

    assert first.rc == 0, first.stderr
    assert "changed: user megtrim: missing" in first.stdout
    before = _everything(booted)
    second = booted.set_up()
    assert (second.rc, second.stdout[: len(NOTHING)]) == (0, NOTHING)
    assert "changed" not in second.stdout
    assert _everything(booted) == before
    assert booted.set_up("--check").rc == 0


def test_jobs_come_and_go(booted: Host) -> None:
    lines = booted.wait_for(f"{STATE}/jobs", lines=2 * len(FIRST_JOB))

    assert lines[: 2 * len(FIRST_JOB)] == FIRST_JOB * 2
    first, second = calls(booted)[:2]
    assert first["path"] == "/repos/team/models/actions/runners/generate-jitconfig"
    assert first["token"] == "Bearer secret-of-the-host"
    body = first["body"]
    assert isinstance(body, dict)
    assert body["labels"] == ["self-hosted", "megtrim", "armv82"]
    assert body["runner_group_id"] == 1
    assert first["body"] != second["body"]
    cleaned = booted.text("cat", f"{STATE}/calls").splitlines()
    assert set(cleaned) == {"megtrim /usr/bin/adb devices clean --attached"}
    assert len(cleaned) >= 3


def test_what_a_job_leaves_running_is_ended(booted: Host) -> None:
    booted.text("touch", "/etc/megtrim-host/drain")
    for _ in range(30):
        state = booted.run("systemctl", "is-active", "megtrim-runner@1.service").stdout.strip()
        if state == "inactive":
            break
        booted.run("sleep", "1")

    assert booted.run("systemctl", "is-active", "megtrim-runner@1.service").stdout == "inactive\n"
    orphan = booted.text("cat", f"{STATE}/orphan").strip()
    assert booted.run("test", "-e", f"/proc/{orphan}").rc == 1
    assert booted.text("find", "/var/lib/megtrim-host/runners/1", "-mindepth", "1") == ""
    assert booted.text("systemctl", "is-active", "megtrim-adb.service") == "active\n"
    assert booted.set_up("--check").rc == 0


def test_no_phone_no_registration(booted: Host) -> None:
    booted.text("touch", f"{STATE}/no-phone")
    booted.text("rm", "/etc/megtrim-host/drain")
    before = len(calls(booted))

    started = booted.run("systemctl", "start", "megtrim-runner@1.service")

    assert started.rc != 0
    assert len(calls(booted)) == before
    booted.text("rm", f"{STATE}/no-phone")


def test_the_adb_server_keeps_its_key(booted: Host) -> None:
    """A phone that was allowed once stays allowed after a restart of the server."""
    key = "/var/lib/megtrim-host/adb/.android/adbkey"
    before = booted.text("sha256sum", key)
    booted.text("systemctl", "restart", "megtrim-adb.service")

    assert booted.text("stat", "-c", "%U %a", key) == "megtrim-adb 600\n"
    booted.text("adb", "kill-server")  # whoever reaches the port can do that
    booted.run("sleep", "4")
    assert booted.set_up("--check").rc == 0
    assert booted.text("sha256sum", key) == before


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("chmod 0644 /etc/megtrim-host/github-token", "mode: found 0644, expected 0600"),
        ("echo X=1 >> /etc/megtrim-host/environment", "-X=1"),
        ("gpasswd -a megtrim sudo", "groups with power: found sudo, expected none"),
        ("rm /opt/megtrim-host/runner-*/unpacked-from", "runner /opt/megtrim-host/runner-"),
        ("systemctl disable megtrim-adb.service", "at boot: found disabled, expected enabled"),
        # The runner's unit would start it again.
        (
            "systemctl stop megtrim-runner@1.service megtrim-adb.service",
            "now: found inactive, expected active",
        ),
        ("chmod 0777 /var/lib/megtrim-host/state", "mode: found 0777, expected 0700"),
        ("usermod -s /bin/bash megtrim", "shell: found /bin/bash, expected /usr/sbin/nologin"),
        ("cp /bin/true /usr/local/bin/adb", "the one adb"),
        ("chmod g+w /opt/megtrim", "others may write: found yes, expected no"),
        ("mkdir /opt/megtrim-host/runner-0000", "runner-0000: not needed any more"),
        ("systemctl enable megtrim-runner@2.service", "at boot: found enabled, expected disabled"),
    ],
)
def test_check_names_what_differs(booted: Host, broken: str, said: str) -> None:
    booted.text("sh", "-c", broken)
    check = booted.set_up("--check")
    mended = booted.set_up()
    if mended.rc == 2:
        booted.text("sh", "-c", "chmod 0600 /etc/megtrim-host/github-token")
        booted.text("sh", "-c", "rm -f /usr/local/bin/adb; chmod g-w /opt/megtrim")

    assert check.rc == 3
    assert said in check.stdout
    assert "yours to do" in check.stdout if mended.rc == 2 else mended.rc == 0
    assert booted.set_up("--check").rc == 0


def test_an_image_can_be_made(image: Host) -> None:
    image.give_token()
    first = image.set_up()
    second = image.set_up()

    assert first.rc == 0, first.stderr
    assert first.stdout.endswith("done; systemd does not run here: units start at boot\n")
    assert (second.rc, second.stdout[: len(NOTHING)]) == (0, NOTHING)
