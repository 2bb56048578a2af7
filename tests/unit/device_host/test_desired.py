import argparse
import dataclasses
import hashlib
import io
import json
import os
import runpy
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
import set_up
from host.desired import HostSpec, HostState, fill, list_items, make_values, parser, read
from host.items import UNPACKED, Facts, Item, Refusal, file, look, make, runner
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

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


FILE = {"owner": "root", "content": "a\nb\nc\n"}
SHELL = "shell: found /bin/bash, expected /usr/sbin/nologin"


@pytest.mark.parametrize(
    ("desired", "actual", "lines"),
    [
        ({"state": "installed"}, None, ("missing",)),
        ({"state": "installed"}, {"state": "installed"}, ()),
        ({"shell": "/usr/sbin/nologin"}, {"shell": "/bin/bash"}, (SHELL,)),
        ({"mode": "0700"}, {}, ("mode: found nothing, expected 0700",)),
        (FILE, {"owner": "root", "content": "a\nB\nc\n"}, ("content differs", "-B", "+b")),
        (None, None, ()),
        (None, {}, ("not needed any more",)),
        ({"at boot": "enabled"}, {"at boot": "enabled", "now": "failed"}, ()),
    ],
)
def test_a_difference_says_what_was_found(
    desired: Facts | None, actual: Facts | None, lines: tuple[str, ...]
) -> None:
    item = Item(name="x", desired=desired, read=lambda: actual, make=None)

    assert item.list_differences() == lines


def apply(item: Item) -> None:
    assert item.make
    item.make()


def pack(path: Path, name: str = "./run.sh") -> str:
    entry = tarfile.TarInfo(name)
    entry.size = 2
    entry.mode = 0o755
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(entry, io.BytesIO(b"#!"))
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_file_gets_content_and_mode_and_replaces_a_link(tmp_path: Path) -> None:
    """A link is not followed: what it leads to is someone else's."""
    other = tmp_path / "other"
    other.write_text("theirs", encoding="utf-8")
    path = tmp_path / "folder" / "file"
    path.parent.mkdir()
    path.symlink_to(other)
    apply(file(path, "ours\n", "0755"))

    assert other.read_text(encoding="utf-8") == "theirs"
    assert not path.is_symlink()
    assert path.read_text(encoding="utf-8") == "ours\n"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [entry.name for entry in path.parent.iterdir()] == ["file"]


def test_a_file_that_cannot_be_put_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.mkdir()
    with pytest.raises(OSError, match="file"):
        apply(file(path, "x"))

    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_what_root_makes_is_for_others_to_read(tmp_path: Path) -> None:
    """Also where root's own files are for no one else: the jobs' user starts these programs."""
    before = os.umask(0o077)
    try:
        make("mkdir", str(tmp_path / "libraries"))
    finally:
        os.umask(before)

    assert (tmp_path / "libraries").stat().st_mode & 0o777 == 0o755


def test_a_program_that_fails_is_reported_completely() -> None:
    with pytest.raises(Refusal, match=r"this ended with 7: sh -c 'echo no; exit 7'\nno") as refused:
        make("sh", "-c", "echo no; exit 7")

    assert refused.value.rc == 3
    assert look("no-such-program")[0] == 127


def test_a_runner_is_unpacked_and_marked(tmp_path: Path) -> None:
    """The mark comes last: without it the folder counts as half made."""
    digest = pack(tmp_path / "a.tar.gz")
    folder = tmp_path / "runner"
    item = runner(folder, tmp_path / "a.tar.gz", digest)
    apply(item)

    assert item.list_differences() == ()
    assert os.access(folder / "run.sh", os.X_OK)
    assert sorted(path.name for path in folder.iterdir()) == ["run.sh", UNPACKED]


@pytest.mark.parametrize(
    ("member", "digest", "message"),
    [
        ("./run.sh", "0" * 64, r"found sha256 [0-9a-f]{64}, expected 0000"),
        ("./README", "", r"found no run\.sh"),
    ],
)
def test_another_archive_is_refused(tmp_path: Path, member: str, digest: str, message: str) -> None:
    found = pack(tmp_path / "a.tar.gz", member)
    with pytest.raises(Refusal, match=message) as refused:
        apply(runner(tmp_path / "runner", tmp_path / "a.tar.gz", digest or found))

    assert refused.value.rc == 2
    assert [path.name for path in tmp_path.iterdir()] == ["a.tar.gz"]


SHA256 = "0123456789abcdef" * 4
API = "https://api.github.com"
REQUIRED = {
    "--user": "megtrim",
    "--class": "armv82",
    "--repository": "team/models",
    "--runner-archive": "/root/runner.tar.gz",
    "--runner-sha256": SHA256,
}


def _words(changed: dict[str, str] | None = None) -> list[str]:
    return [word for pair in {**REQUIRED, **(changed or {})}.items() for word in pair]


def _order(words: list[str], *, checkout: str = "/opt/megtrim") -> HostSpec:
    return read(parser("").parse_args(words), checkout=Path(checkout))


def test_an_order_with_what_is_required() -> None:
    assert _order(_words()) == dataclasses.replace(
        SPEC, user="megtrim", runners=1, usb_vendors=(), power_hubs=(), proxy="", api_url=API
    )


@pytest.mark.parametrize("name", REQUIRED)
def test_nothing_required_has_a_default(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for pair in REQUIRED.items() if pair[0] != name for word in pair]
    with pytest.raises(SystemExit) as refused:
        _order(words)

    assert refused.value.code == 2
    assert name in capsys.readouterr().err


def test_an_order_may_stand_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "order"
    file.write_text("\n".join(_words()) + "\n", encoding="utf-8")

    assert _order([f"@{file}"]) == _order(_words())


def test_an_organization_needs_a_runner_group() -> None:
    words = [word for pair in REQUIRED.items() if pair[0] != "--repository" for word in pair]
    with pytest.raises(argparse.ArgumentTypeError, match="--runner-group"):
        _order([*words, "--organization", "team"])

    spec = _order([*words, "--organization", "team", "--runner-group", "7"])
    assert (spec.scope, spec.runner_group) == ("orgs/team", 7)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--user", "root me"),
        ("--user", "Root"),
        ("--user", "a" * 28),
        ("--class", "armv82\nExecStart=/bin/sh"),
        ("--class", "100%"),
        ("--repository", "team"),
        ("--repository", "team/models/../x"),
        ("--runner-sha256", SHA256[1:]),
        ("--runner-sha256", SHA256.upper()),
        ("--runners", "0"),
        ("--runners", "two"),
        ("--adb", "adb"),
        ("--adb", "/opt/my adb"),
        ("--usb-vendor", "18D1"),
        ("--usb-vendor", '18d1"'),
        ("--power-hub", "2109"),
        ("--proxy", "http://name:secret@proxy:3128"),
        ("--api-url", "http://api.github.com"),
        ("--api-url", "https://host/?a=b"),
    ],
)
def test_odd_words_are_refused(name: str, value: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as refused:
        _order(_words({name: value}))

    assert refused.value.code == 2
    output = capsys.readouterr().err
    assert f"argument {name}: found {value!r}, expected" in output


def test_a_checkout_with_an_odd_path_is_refused() -> None:
    """It becomes the first word of a command in a unit, where a space would end it."""
    with pytest.raises(argparse.ArgumentTypeError, match="without spaces"):
        _order(_words(), checkout="/opt/my megtrim")


def test_several_vendors_and_hubs_are_sorted_and_single() -> None:
    words = ["--usb-vendor", "18d1", "--usb-vendor", "04e8", "--usb-vendor", "18d1"]
    spec = _order([*_words(), *words, "--power-hub", "2109:2817"])

    assert (spec.usb_vendors, spec.power_hubs) == (("04e8", "18d1"), (("2109", "2817"),))


PATH = "/repos/team/models/actions/runners/generate-jitconfig"


SCRIPT = Path(__file__).parents[3] / "scripts" / "device-host" / "installed" / "register.py"
register: Callable[[list[str]], int] = runpy.run_path(str(SCRIPT))["main"]


@pytest.fixture
def unit(httpserver: HTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What systemd gives to the unit; returns where the configuration is wanted."""
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    monkeypatch.setenv("MEGTRIM_API", httpserver.url_for("").rstrip("/"))
    monkeypatch.setenv("MEGTRIM_SCOPE", "repos/team/models")
    monkeypatch.setenv("MEGTRIM_RUNNER_GROUP", "1")
    monkeypatch.setenv("MEGTRIM_LABELS", "self-hosted,megtrim,armv82")
    (tmp_path / "github-token").write_text("ghs_secret\n", encoding="ascii")
    return tmp_path / "config"


def test_a_registration(httpserver: HTTPServer, unit: Path) -> None:
    asked: list[tuple[str, object]] = []

    def answer(request: Request) -> Response:
        asked.append((request.headers["Authorization"], json.loads(request.get_data())))
        return Response(json.dumps({"encoded_jit_config": "Zm9v"}), status=201)

    httpserver.expect_request(PATH, method="POST").respond_with_handler(answer)

    assert register(["3", str(unit)]) == 0
    assert unit.read_text(encoding="ascii") == "Zm9v"
    assert unit.stat().st_mode & 0o777 == 0o640
    token, body = asked[0]
    assert token == "Bearer ghs_secret"
    assert isinstance(body, dict)
    assert "-3-" in body.pop("name")
    assert body == {
        "runner_group_id": 1,
        "labels": ["self-hosted", "megtrim", "armv82"],
        "work_folder": "_work",
    }


@pytest.mark.parametrize(
    ("status", "answer", "rc", "said"),
    [
        (401, "{}", 2, "the token is wrong, or has expired"),
        (403, "{}", 2, "Administration (write)"),
        (404, "{}", 2, "there is no such repository"),
        (422, "{}", 2, "labels or the runner group"),
        (500, "{}", 3, "answered 500"),
        (201, "{}", 3, "without a configuration"),
        (201, "[", 3, "without a configuration"),
        (201, '{"encoded_jit_config": "not base64!"}', 3, "without a configuration"),
        (201, '{"encoded_jit_config": 7}', 3, "without a configuration"),
    ],
)
def test_refusals_say_what_to_do(
    httpserver: HTTPServer,
    unit: Path,
    capsys: pytest.CaptureFixture[str],
    status: int,
    answer: str,
    rc: int,
    said: str,
) -> None:
    httpserver.expect_request(PATH).respond_with_data(answer, status=status)

    assert register(["1", str(unit)]) == rc
    reported = capsys.readouterr().err
    assert said in reported
    assert "ghs_secret" not in reported
    assert not unit.exists()


def test_a_redirect_does_not_get_the_token(httpserver: HTTPServer, unit: Path) -> None:
    there = {"Location": httpserver.url_for("/elsewhere")}
    httpserver.expect_request(PATH).respond_with_data("", status=307, headers=there)

    assert register(["1", str(unit)]) == 3
    assert [request.path for request, _ in httpserver.log] == [PATH]


def test_no_answer(unit: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A network that is not there is not this host's mistake."""
    monkeypatch.setenv("MEGTRIM_API", "http://127.0.0.1:9")

    assert register(["1", str(unit)]) == 3


@pytest.mark.parametrize("token", ["", "two words", "a\nb"])
def test_a_file_that_holds_no_token(
    unit: Path, token: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (unit.parent / "github-token").write_text(token, encoding="ascii")

    assert register(["1", str(unit)]) == 2
    assert "must hold one line with the token" in capsys.readouterr().err


def test_a_link_where_the_configuration_goes_is_replaced(
    httpserver: HTTPServer, unit: Path
) -> None:
    """A job could have put it there, to have a file of the registering user overwritten."""
    target = unit.parent / "target"
    target.write_text("theirs", encoding="ascii")
    unit.symlink_to(target)
    httpserver.expect_request(PATH).respond_with_json({"encoded_jit_config": "Zm9v"}, status=201)

    assert register(["1", str(unit)]) == 0
    assert target.read_text(encoding="ascii") == "theirs"
    assert unit.read_text(encoding="ascii") == "Zm9v"
