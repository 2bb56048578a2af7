"""Where a trim builds, this machine or an image, and which devices stand for a class."""

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from megtrim.core.build_spec import Toolchain
from megtrim.core.checks.invocation import Options
from megtrim.core.cli.environment import open_processes
from megtrim.core.cli.session import build_host, device_specs, setup
from megtrim.core.cli.session.build_host import open_compiler_cache
from megtrim.core.cli.session.device_specs import DeviceDefaults, standing_for
from megtrim.core.config.device import CoolDown, DeviceSettings, PowerPort
from megtrim.core.config.load import LoadedConfig, load_config
from megtrim.hosting.cli.evidence.device_job import make_bundle_specs
from megtrim.lab.pool import device_pool
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import Command, CompletedCommand, ProcessRunner
from megtrim.places.compile.images.container_runner import ContainerRunner
from megtrim.places.compile.projects.cmake.compiler_cache import VARIABLE
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices.device import DeviceSpec
from unit.core.cli.support import SAMPLE_MODEL, Shell
from unit.hosting.github.support import REPOSITORY, environment
from unit.lab.evidence.support import device
from unit.places.compile.images.stub import ID, Stub
from unit.places.compile.projects.support import TOOLCHAIN

SYSROOT = Path("/usr/aarch64-linux-gnu")
CONFIG = """\
version: 1
engine: {kind: sample}
toolchain: {kind: host}
models: [{name: m, file: m.mge, scenarios: [{name: s}]}]
"""


@pytest.fixture
def stub(tmp_path: Path) -> Stub:
    return Stub.make(tmp_path / "bin", HOME=str(tmp_path / "home"))


def toolchain(sysroot: Path | None = SYSROOT) -> Toolchain:
    return replace(TOOLCHAIN, machine="aarch64", sysroot=sysroot)


@pytest.mark.parametrize("reference", [None, ""])
def test_without_an_image_docker_is_not_asked(
    stub: Stub, tmp_path: Path, reference: str | None
) -> None:
    stub.processes.env["CXXFLAGS"] = "-O0"
    opened = build_host.open_place(reference, stub.processes, results=tmp_path, readable=())

    assert opened.env == {name: stub.processes.env[name] for name in ("PATH", "HOME")}
    assert build_host.attach_image(toolchain(), opened).image == ""
    assert build_host.sysroot_here(toolchain(), opened, tmp_path) == SYSROOT
    assert stub.calls() == []


def test_an_image(stub: Stub, tmp_path: Path) -> None:
    results = tmp_path / "out"
    sysroot = tmp_path / "android"
    sysroot.mkdir()
    readable = (sysroot, sysroot, tmp_path / "none")
    opened = build_host.open_place("a:b", stub.processes, results=results, readable=readable)
    opened.run(Command(argv=("true",), timeout_s=60))

    cache = tmp_path / "home" / ".cache" / "ccache"
    assert isinstance(opened, ContainerRunner)
    assert build_host.attach_image(toolchain(), opened).image == ID
    assert build_host.attach_image(toolchain(), opened).identity()["image"] == ID
    argv = stub.calls("run")[0]
    assert [argv[at + 1] for at, word in enumerate(argv) if word == "--mount"] == [
        f"type=bind,source={results},target={results}",
        f"type=bind,source={cache},target={cache}",
        f"type=bind,source={sysroot},target={sysroot},readonly",
    ]
    assert stub.env("run")["CCACHE_DIR"] == str(cache)
    assert results.is_dir()
    assert cache.is_dir()
    assert stub.calls("ps") != []


@pytest.mark.parametrize("folder", ["/", "/usr", "/usr/lib", "/etc", "/home/../usr/lib", "/run"])
def test_a_sysroot_does_not_hide_the_image(stub: Stub, tmp_path: Path, folder: str) -> None:
    assert Path(folder).is_dir()
    opened = build_host.open_place(
        "a:b", stub.processes, results=tmp_path, readable=(Path(folder),)
    )
    opened.run(Command(argv=("true",), timeout_s=60))

    argv = stub.calls("run")[0]
    assert len([word for word in argv if word == "--mount"]) == 2
    assert not any("readonly" in word for word in argv)


def test_a_sysroot_for_boards_is_brought_out_once(stub: Stub, tmp_path: Path) -> None:
    opened = build_host.open_place("a:b", stub.processes, results=tmp_path, readable=())
    first = build_host.sysroot_here(toolchain(), opened, tmp_path)
    second = build_host.sysroot_here(toolchain(), opened, tmp_path)

    assert first == second == tmp_path / "sysroots" / ID.removeprefix("sha256:")[:20]
    copies = stub.calls("cp")
    assert len(copies) == 1
    assert copies[0][1].endswith(f":{SYSROOT}/.")
    assert len(stub.calls("rm")) == 1
    assert build_host.sysroot_here(toolchain(None), opened, tmp_path) is None


LIMITS = "connect-timeout=250|operation-timeout=1000"
INPUT = "MEGTRIM_CACHE_REMOTE"
SECRET = "MEGTRIM_CACHE_REMOTE_SECRET"
SECONDARY = "CCACHE_SECONDARY_STORAGE"
PASSED = {"CCACHE_RESHARE": "1", "CCACHE_NAMESPACE": "a", "CCACHE_MAXSIZE": "20G"}


class Machine(ProcessRunner):
    def __init__(self) -> None:
        super().__init__({})

    def which(self, name: str) -> str | None:
        return f"/usr/bin/{name}"

    def run(self, command: Command) -> CompletedCommand:
        Path(command.env["CCACHE_STATSLOG"]).write_text("remote_storage_read_miss\n", "utf-8")
        return CompletedCommand(argv=(), rc=0, stdout="", stderr="", wall_s=0.0, timed_out=False)


def reported(
    folder: Path, env: dict[str, str] | None = None, *, recompile: bool = False
) -> dict[str, str]:
    cache = open_compiler_cache(env or {}, pytest.fail, recompile=recompile)
    return dict(cache.variables(Machine(), ("/usr/bin/c++",), folder))


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (INPUT, SECRET, VARIABLE, SECONDARY):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ({}, ""),
        ({VARIABLE: "redis://own"}, "redis://own"),
        ({SECONDARY: "redis://own"}, "redis://own"),
        ({INPUT: "redis://input"}, "redis://input"),
        ({VARIABLE: "redis://own", INPUT: "redis://input"}, "redis://input"),
        ({INPUT: "redis://input", SECRET: "redis://ci:pw@secret"}, "redis://ci:pw@secret"),
        ({INPUT: "redis://input", SECRET: ""}, "redis://input"),
    ],
)
def test_which_storage_a_build_has(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, given: dict[str, str], url: str
) -> None:
    """The secret's, then the input's, then what the runner's owner set; by hand it is written."""
    for name, value in given.items():
        monkeypatch.setenv(name, value)

    assert reported(tmp_path) == ({VARIABLE: f"{url}|{LIMITS}"} if url else {})


def test_what_ccache_gets_as_well(tmp_path: Path) -> None:
    """Its own variables go to a build in an image, which sees nothing of this environment.

    What is compiled again is not taken, and a job that may not write obeys no ccache.conf.
    """
    assert reported(tmp_path, PASSED | {"CCACHE_DIR": "/b", "CCACHE_DISABLE": ""}) == PASSED
    assert reported(tmp_path, recompile=True) == {"CCACHE_RECACHE": "1"}
    assert reported(tmp_path, environment(tmp_path, "pull_request")) == {VARIABLE: ""}


@pytest.mark.parametrize("url", ["redis://ci:geheim@cache.lan", "http://a|bearer-token=geheim"])
def test_no_password_in_an_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, url: str) -> None:
    monkeypatch.setenv(INPUT, url)

    with pytest.raises(InputError) as caught:
        reported(tmp_path)

    assert str(caught.value) == (
        "the input cache-remote: found a password, which a runner prints into every log\n"
        "  change that password, and give the URL as the secret cache-remote"
    )


@pytest.mark.parametrize(
    ("name", "source"),
    [(SECRET, "the secret cache-remote"), (INPUT, "the input cache-remote"), (VARIABLE, VARIABLE)],
)
def test_a_broken_url_is_refused_where_it_is_set(
    shell: Shell, monkeypatch: pytest.MonkeyPatch, name: str, source: str
) -> None:
    monkeypatch.setenv(name, "https://geheim@cache.lan")
    shell.configure(CONFIG)

    assert (
        shell("stage", "build")
        .expect(2)
        .err.endswith(
            f"megtrim: {source}: found https://, which ccache does not support\n"
            "  http:// in a closed network, or through your own tunnel\n"
        )
    )


@pytest.mark.parametrize(
    ("name", "ref", "writes"),
    [
        ("push", "refs/heads/main", True),
        ("push", "refs/heads/work", False),
        ("push", "refs/tags/main", False),
        ("workflow_dispatch", "refs/heads/main", True),
        ("workflow_dispatch", "refs/heads/megtrim/keepset", False),
        ("schedule", "refs/heads/main", True),
        ("pull_request", "refs/pull/17/merge", False),
        ("merge_group", "refs/heads/gh-readonly-queue/main/pr-17-2222", False),
    ],
)
def test_jobs_write_for_the_default_branch_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str, ref: str, writes: bool
) -> None:
    env = {**environment(tmp_path, name), "GITHUB_REF": ref}
    monkeypatch.setenv(VARIABLE, "redis://cache.lan|read-only=false")

    ending = f"|{LIMITS}" if writes else f"|{LIMITS}|read-only=true"
    start = "redis://cache.lan|read-only=false" if writes else "redis://cache.lan"
    assert reported(tmp_path, env) == {VARIABLE: f"{start}{ending}"}


@pytest.mark.parametrize("content", [[], {"repository": {**REPOSITORY, "default_branch": 7}}])
def test_a_job_whose_event_cannot_be_read_does_not_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: Any
) -> None:
    env = environment(tmp_path, "push", content)
    monkeypatch.setenv(VARIABLE, "redis://cache.lan")

    assert reported(tmp_path, env)[VARIABLE].endswith("|read-only=true")


def test_programs_under_test_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (VARIABLE, SECONDARY, SECRET):
        monkeypatch.setenv(name, "redis://geheim@c")
    monkeypatch.setenv("CCACHE_DIR", "/somewhere")

    env = open_processes().env

    assert "geheim" not in "".join(env.values())
    assert env["CCACHE_DIR"] == "/somewhere"


def test_builds_get_it(shell: Shell, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(VARIABLE, "redis://cache.lan")
    made: list[dict[str, Any]] = []
    monkeypatch.setattr(setup, "Builder", lambda *_, **given: made.append(given))
    shell.configure(CONFIG)

    setup.open_session(
        Options(config=shell.folder / "megtrim.yaml", out=tmp_path / "out", quiet=True)
    )

    reported = made[0]["cache"].variables(Machine(), ("/usr/bin/c++",), tmp_path)
    assert reported == {VARIABLE: f"redis://cache.lan|{LIMITS}"}


RUNNERS = """\
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
"""
ROOM = """\
classes:
- {name: a53, qemu_cpu: cortex-a53}
- {name: a76}
devices:
- {name: one, kind: adb, class: a53, serial: 1A}
- {name: board, kind: ssh, class: a53, host: board}
- {name: far, kind: adb, class: a53, serial: 2B, runner: true}
- {name: two, kind: adb, class: a53, match: {ro.product.model: Pixel 6}}
- {name: qemu, kind: local, class: a76}
"""
FULL = """\
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
"""


def loaded(folder: Path, text: str) -> LoadedConfig:
    (folder / "m.mge").write_bytes(SAMPLE_MODEL)
    (folder / "megtrim.yaml").write_text(f"{CONFIG}{text}", encoding="utf-8")
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
    found = standing_for(loaded(tmp_path, ""), kind)

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
    with pytest.raises(InputError, match=re.escape(message)):
        standing_for(loaded(tmp_path, text), asked)


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
    board = device(
        name="board", kind="ssh", cpu_class="a53", qemu_cpu="cortex-a53", settings=settings
    )
    [spec] = make_bundle_specs(around(tmp_path), [board])

    assert (spec.name, spec.qemu_cpu, spec.cpu_class) == ("board", "cortex-a53", "a53")
    assert (spec.machine, spec.scratch) == ("aarch64", tmp_path / "runs")
    assert spec.sysroot == Path("/roots")
    assert spec.settings == settings.model_copy(update={"key": Path("/home/me/.ssh/k")})


def test_no_home_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_one = Mock(side_effect=RuntimeError("Could not determine home directory."))
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

    monkeypatch.setattr(device_kinds, "make", make)
    monkeypatch.setattr(device_pool, "merge_devices", "+".join)
    config = loaded(tmp_path, ROOM)
    entries = standing_for(config, "adb")["a53"]
    specs = [spec for _, spec in device_specs.make_device_specs(config, around(tmp_path), entries)]

    device: Any = device_kinds.make_all("adb", specs, native="x86_64")

    assert device == "one+far+two"
    assert made == [("adb", name, "x86_64") for name in ("one", "far", "two")]
