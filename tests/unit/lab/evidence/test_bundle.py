import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.build_spec import Link, Variant
from megtrim.core.config.device import CoolDown, DeviceSettings, PowerPort
from megtrim.core.evidence.binding import binding
from megtrim.core.evidence.evidence import JobPurpose
from megtrim.core.timing.spec import ContestBudget, PerformanceStatus
from megtrim.lab.evidence.bundle import (
    DROPPED,
    Bundle,
    BundleApplication,
    BundleDevice,
    parse_bundle,
    read_bundle,
)
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.times.experiments.contest import Side
from unit.lab.evidence.support import (
    HOSTILE_DIGESTS,
    HOSTILE_NAMES,
    Change,
    bundle,
    bundle_contest,
    changed,
    contest,
    contestant,
    device,
    proven,
    put,
    scenario,
    time_bundle,
    unheld_contest,
)
from unit.lab.evidence.support import SCENARIO as ID

PHONE = DeviceSettings(
    sysroot=Path("~/roots"),
    match={"ro.product.model": "Pixel 6", "ro.build.version.sdk": "33"},
    power=PowerPort(hub="1-1.4", port=2),
    cool_down=CoolDown.model_construct(below_c=38.0, within_s=600.0),
    governor="performance",
    cpus="4-7",
)
BOARD = DeviceSettings(
    host="board.lab",
    port=2222,
    user="pi",
    key=Path("~/.ssh/board"),
    known_hosts=Path("/etc/hosts.pub"),
)
TRACE = bundle(
    purpose=JobPurpose.TRACE,
    programs={"plain": "3" * 64, "profile": "4" * 64},
    keep_set=None,
    scenarios=(scenario(search=True),),
)
RECORD = bundle(
    purpose=JobPurpose.RECORD,
    programs={"unfolded": "3" * 64, "probed": "4" * 64, "observables": "5" * 64},
    keep_set=None,
    scenarios=(scenario(link="7" * 64),),
    speaks=True,
)
NAMED = {"named": "8" * 64, "dropped": "9" * 64}
APPLICATION = bundle(
    programs={},
    applications=(
        BundleApplication(
            name="classify",
            programs={"plain": "3" * 64, "reduced": "4" * 64},
            companions={"plain": {"libengine.so": "6" * 64}, "reduced": {"libengine.so": "7" * 64}},
        ),
    ),
    scenarios=(scenario(application="classify", arguments=("{model}", "{input:data}")),),
)
STATUS = PerformanceStatus
UNHELD = (
    unheld_contest(STATUS.SKIPPED, "not run here: needs a GPU", id=f"{ID}#nchw4"),
    unheld_contest(STATUS.FAILED, "no program", id=f"{ID}#trimming-reduced"),
    unheld_contest(
        STATUS.INFRASTRUCTURE,
        "no disk",
        id="m/s@big#nchw88",
        scenario="m/s@big",
        cpu_class="big",
    ),
)
TRIMMING = bundle_contest(
    id=f"{ID}#trimming",
    rival=Variant.REDUCED,
    contest=contest(budget=ContestBudget(rounds=40, limit_s=600.0), seed=2**31),
)
WHOLE = {
    "verify": bundle(),
    "trace": TRACE,
    "record": RECORD,
    "proven": bundle(scenarios=(), proven=(proven(),)),
    "nothing": bundle(programs={}, keep_set=None, scenarios=()),
    "named": bundle(programs={**bundle().programs, **NAMED}),
    "application": APPLICATION,
    "phone": bundle(devices=(device(kind="adb", settings=PHONE),)),
    "board": bundle(devices=(device(kind="ssh", settings=BOARD),)),
    "time": replace(time_bundle(), keep_set="5" * 64),
    "alone": time_bundle(bundle_contest(contest=contest(rival=None))),
    "trimming": time_bundle(TRIMMING),
    "unheld": time_bundle(*UNHELD, bundle_contest()),
}


def refused(name: str, change: Change) -> str:
    with pytest.raises(InputError) as caught:
        parse_bundle(changed(dump(WHOLE[name]), change), source="bundle.json")
    assert caught.value.hint == (
        "take the bundle of the build job again; `megtrim ci evidence pack` writes it"
    )
    assert caught.value.message.startswith("bundle.json:1: ")
    return caught.value.message


@pytest.mark.parametrize("name", WHOLE)
def test_a_bundle_comes_back_as_it_went(name: str) -> None:
    text = dump(WHOLE[name])

    assert parse_bundle(text, source="x") == WHOLE[name]
    assert dump(parse_bundle(text, source="x")) == text


SCENARIO = ("scenarios", 0)
COMPANIONS = ("applications", 0, "companions")
CONTEST = ("times", "contests", 0)
COMMAND = (*CONTEST, "contest", "rival", "commands", 0)
SETTINGS = ("devices", 0, "settings")
HELD = (*CONTEST, "contest")
A_NAME = "expected a name of letters, digits, '.', '_' and '-'"
A_DIGEST = "expected a sha256 of 64 hex digits"
A_LINE = "one line of at most 4096 characters"
ON_RUNNER = "expected a path of the runner: /... or ~/..."


def _hostile() -> Iterable[tuple[str, Change, str]]:
    names = (("target",), ("machine",), ("devices", 0, "name"), ("devices", 0, "class"))
    for text in HOSTILE_NAMES:
        yield from (("verify", put(*path, value=text), A_NAME) for path in names)
        if text:
            yield "time", put(*HELD, "rival", "name", value=text), A_NAME
            for path, value in (("id", f"{ID}#{text}"), ("id", text), ("class", text)):
                yield "time", put(*CONTEST, path, value=value), "expected"
    digests = (
        ("keep_set",),
        ("programs", "plain"),
        *((*SCENARIO, key) for key in ("model", "cache", "binding", "link")),
        (*SCENARIO, "inputs", 0, "file"),
    )
    for text in HOSTILE_DIGESTS:
        yield from (("verify", put(*path, value=text), A_DIGEST) for path in digests)
        yield "time", put(*CONTEST, "binding", value=text), A_DIGEST


def _values(name: str, *path: str | int, cases: list[tuple[Any, str]]) -> Any:
    return [(name, put(*path, value=value), said) for value, said in cases]


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        *_hostile(),
        ("verify", put("generation", value=1), "found 1, expected 20190219 or 20220507"),
        ("verify", put("sysroot", value="a/b"), "found 'a/b', expected an absolute path, or noth"),
        ("verify", put("purpose", value="run"), "expected one of verify, trace, record or time"),
        ("verify", put("keep_set", value=None), "expected one, because devices are to verify"),
        ("verify", put("programs", "shell", value="3" * 64), "expected one of plain, profile, reg"),
        ("verify", put("programs", value={"plain": "3" * 64}), "['plain'], expected plain and red"),
        ("verify", put("tolerance", value=0), "tolerance: found 0, expected no such key"),
        ("verify", put("version", value=1), "version: found 1, expected 6"),
        ("verify", put("proven", value=[{"id": ID, "class": "any", "binding": "b" * 64}]), "once"),
        ("proven", put("devices", 0, "class", value="big"), "found 'none', expected a device on"),
        ("verify", put("devices", 0, "class", value="big"), "found 'none', expected a device on"),
        ("verify", put("devices", 0, "runner", value=False), "found 'none', expected a device on"),
        ("time", put("devices", 0, "class", value="big"), "found 'none', expected a device on"),
        ("time", put("devices", 0, "runner", value=False), "found 'none', expected a device on"),
        ("verify", put("devices", 0, "qemu_cpu", value="max -L /"), "expected a CPU's name"),
        ("verify", put("devices", 0, "runner", value=1), "found 1, expected true or false"),
        ("verify", put(*SCENARIO, "id", value="a/b@other"), "expected MODEL/SCENARIO@any"),
        ("verify", put(*SCENARIO, "id", value="../b@any"), "expected MODEL/SCENARIO@any"),
        *_values("verify", *SCENARIO, "threads", cases=[(0, "1 to 256"), (257, "1 to 256")]),
        ("verify", put(*SCENARIO, "timeout_s", value=0), "expected up to a day of seconds"),
        ("verify", put(*SCENARIO, "timeout_s", value=86_401), "up to a day of seconds"),
        *_values(
            "verify",
            *SCENARIO,
            "arguments",
            cases=[
                (["a\x1b[0m"], A_LINE),
                (["x" * 4097], A_LINE),
                (["--cpu"] * 10_001, "expected at most 10000 entries"),
                (["x", "--input=y"], "--input is not allowed in args"),
                (["--flagfile=x"], "--flagfile is not allowed in args"),
            ],
        ),
        *_values(
            "verify",
            *SCENARIO,
            "inputs",
            0,
            "suffix",
            cases=[("/../x", "expected one such as .npy"), (".npy\n", "expected one such as .npy")],
        ),
        *_values(
            "verify",
            *SCENARIO,
            "inputs",
            0,
            "name",
            cases=[("a:b", "a name without ':', ';' and spaces"), ("", "a name without ':'")],
        ),
        *_values(
            "verify",
            *SCENARIO,
            "inputs",
            cases=[([{"name": "data", "file": "2" * 64, "suffix": ""}] * 2, "each name once")],
        ),
        ("trace", put(*SCENARIO, "cache", value="6" * 64), "none, since a cache is recorded"),
        ("verify", put(*SCENARIO, "tolerance", "absolute", value=-1), "found -1, expected 0 or"),
        ("verify", put(*SCENARIO, "tolerance", "relative", value=1), "one that a difference exc"),
        ("record", put(*SCENARIO, "link", value=None), "link: found None, expected one, because"),
        (
            "record",
            put("programs", value={"probed": "4" * 64}),
            "expected observables",
        ),
        *(
            ("verify", put("programs", name, value=digest), "expected named and dropped, or neit")
            for name, digest in NAMED.items()
        ),
        *_values(
            "application",
            *SCENARIO,
            "application",
            cases=[("other", "application other: found []"), ("../x", A_NAME)],
        ),
        *_values(
            "application",
            *SCENARIO,
            "arguments",
            cases=[
                (["{modle}"], "an unknown placeholder {modle}"),
                (["{input:x}"], "['input:x'], expected its inputs"),
            ],
        ),
        ("application", put("applications", 0, "programs", value={}), "application classify"),
        *_values(
            "application",
            *COMPANIONS,
            cases=[
                ({"profile": {"lib.so": "6" * 64}}, "expected files of their own"),
                ({"plain": {"classify": "6" * 64}}, "expected files of their own"),
                ({"plain": {"../lib.so": "6" * 64}}, "expected a name of letters"),
                ({"plain": {"lib.so": "x"}}, "expected a sha256"),
            ],
        ),
        # Settings have the types of the configuration, where each is held to its shape.
        *_values(
            "phone",
            *SETTINGS,
            "match",
            cases=[
                ({"-r": "x"}, "expected the name of an Android property"),
                ({f"ro.{n}": "1" for n in range(33)}, "expected at most 32 entries"),
                ({}, "device pixel-6: found [], expected serial or match"),
            ],
        ),
        ("phone", put(*SETTINGS, "power", "hub", value="/dev/bus/usb"), "a hub as uhubctl"),
        ("phone", put(*SETTINGS, "power", "port", value=True), "a whole number"),
        ("phone", put(*SETTINGS, "power", "volts", value=5), "expected no such key"),
        ("phone", put(*SETTINGS, "cool_down", "below", value="40"), "a number"),
        ("phone", put(*SETTINGS, "cool_down", "within", value="86401 s"), "and at most a day"),
        ("phone", put(*SETTINGS, "governor", value="x;reboot"), "expected a governor"),
        ("phone", put(*SETTINGS, "cpus", value="4-7;8"), "expected numbers of CPUs"),
        ("phone", put(*SETTINGS, "sysroot", value="roots"), "expected a path of the runner"),
        ("phone", put(*SETTINGS, "sysroot", value="/a/../b"), "a path of the runner"),
        ("phone", put(*SETTINGS, "host", value="board"), "host: found 'adb', expected a kind"),
        ("phone", put(*SETTINGS, "serial", value="1A"), "['serial', 'match'], expected serial or"),
        ("board", put(*SETTINGS, "serial", value="1A"), "serial: found 'ssh', expected a kind"),
        *_values(
            "board",
            *SETTINGS,
            "host",
            cases=[
                ("-oProxyCommand=id", "expected a host's name or address"),
                (None, "device pixel-6: found 'no host', expected one"),
            ],
        ),
        ("board", put(*SETTINGS, "port", value=0), "from 1 to 65535"),
        ("board", put(*SETTINGS, "user", value="-l"), "the name of a user"),
        ("board", put(*SETTINGS, "key", value="keys/board"), ON_RUNNER),
        ("board", put(*SETTINGS, "key", value="~root/key"), ON_RUNNER),
        ("board", put(*SETTINGS, "key", value="~/../key"), ON_RUNNER),
        ("board", put(*SETTINGS, "key", value="/a\x00"), ON_RUNNER),
        ("board", put(*SETTINGS, "known_hosts", value="-x"), ON_RUNNER),
        ("time", put(*CONTEST, "scenario", value="m/s@any"), "expected resnet18-s/default@any"),
        ("time", put(*CONTEST, "id", value=ID), "expected MODEL/SCENARIO@any#NAME"),
        ("time", put(*CONTEST, "id", value=f"{ID}#"), "found '', expected a name of letters"),
        ("time", put(*CONTEST, "id", value=f"{ID}#a#b"), "found 'a#b', expected a name of letters"),
        ("time", put(*CONTEST, "class", value="big"), "expected MODEL/SCENARIO@big"),
        ("time", put(*CONTEST, "rival", value="shell"), "contests[0].rival: found 'shell'"),
        ("time", put(*CONTEST, "rival", value="profile"), "expected a program of the bundle"),
        ("time", put(*CONTEST, "contest", value=None), "found '', expected a contest, or why"),
        ("time", put(*CONTEST, "unheld", value="skipped"), "expected a contest, or why there is"),
        ("time", put(*CONTEST, "unheld", value="measured"), "expected a contest, or why there"),
        ("unheld", put(*CONTEST, "unheld", value="measured"), "expected a contest, or why there"),
        *_values(
            "time",
            *CONTEST,
            "reason",
            cases=[("no GPU", "expected a contest, or why there is none"), ("a\nb", A_LINE)],
        ),
        ("time", put(*CONTEST, "artifact", value="../x"), "artifact: found '../x', expected a na"),
        ("time", put(*CONTEST, "sizes", value=[["plain", 1]] * 2), "expected each"),
        ("time", put(*CONTEST, "sizes", value=[["plain", -1]]), "expected 0 or more"),
        ("time", put(*HELD, "rival", "name", value="baseline"), "both sides of a contest"),
        ("time", put(*HELD, "threads", value=0), "threads: found 0, expected 1 to 256"),
        ("time", put(*HELD, "timeout_s", value=0), "expected a time that megtrim.yaml can"),
        ("time", put(*HELD, "timeout_s", value=10**12), "expected a time that"),
        *_values(
            "time",
            *HELD,
            "budget",
            "limit_s",
            cases=[(10**12, "expected a time that megtrim.yaml"), (0, "found a budget of 0.0 s")],
        ),
        ("time", put(*HELD, "budget", "rounds", value=7), "found 7 rounds"),
        ("time", put(*HELD, "budget", "rounds", value=10**9), "found 1000000000 rounds"),
        ("time", put(*HELD, "criterion", "threshold", value=0), "no criterion"),
        ("time", put(*HELD, "criterion", "threshold", value=1), "no criterion"),
        ("time", put(*HELD, "seed", value=-1), "seed: found -1, expected 0 or more"),
        ("time", put(*HELD, "tolerance", "relative", value=1), "one that a difference exceeds"),
        ("time", put(*HELD, "environment", value=[["LD_PRELOAD", "x"]]), "expected variables of"),
        ("time", put(*COMMAND, "iterations", value=0), "found 0, expected 1 to 100000"),
        ("time", put(*COMMAND, "iterations", value=100_001), "expected 1 to 100000"),
        ("time", put(*COMMAND, "step", "warmups", value=1001), "found 1001, expected at most 1000"),
        ("time", put(*COMMAND, "step", "measured", value=False), "the last step is measured"),
        ("time", put(*HELD, "rival", "commands", value=[]), "the other one has none"),
        ("time", put("times", "contests", value=[{}]), "contests[0].id: found nothing, expected"),
        ("time", put("times", "engine", value="x"), "times.engine: found 'x', expected a sha256"),
        ("time", put("times", "criterion", "floor_ms", value=-1), "found -1, expected 0 or more"),
        ("time", put("times", "inconclusive", value="pass"), "expected one of fail or warn"),
        ("time", put("times", value=None), "times: found 'time', expected contests"),
        ("time", put("scenarios", value=[]), "expected a scenario of the bundle"),
        ("time", put("purpose", value="verify"), "expected contests if it is to time, else none"),
        ("time", put("programs", value={"reduced": "4" * 64}), "['reduced'], expected plain"),
        *_values(
            "time",
            *COMMAND,
            "argv",
            cases=[
                ([], "program: found '', expected b-program"),
                (["sh"], "program: found 'sh', expected b-program"),
                (["a-program", "model.mge"], "found 'a-program', expected b-program"),
                (["b-program"], "model: found '', expected model.mge or b-dumped.mge"),
                (["b-program", "/etc/passwd"], "expected model.mge or b-dumped.mge"),
                (["b-program", "a-dumped.mge"], "expected model.mge or b-dumped.mge"),
                (["b-program", "model.mge", "--flagfile=/etc/x"], "--flagfile is not allowed"),
                (["b-program", "model.mge", "--fromenv", "HOME"], "--fromenv is not allowed"),
                (["b-program", "model.mge", "--input", "data:/etc/passwd"], "--input is not al"),
                (["b-program", "model.mge", "--input", "data:input0.npy;x:y"], "--input is not"),
                (["b-program", "model.mge", "--input"], "--input is not allowed"),
                (["b-program", "model.mge", "--bin-out-dump", "/tmp"], "--bin_out_dump is not"),
                (
                    ["b-program", "model.mge", "--fast-run-algo-policy", "a-algo.cache"],
                    "--fast_run_algo_policy is not allowed",
                ),
                (["b-program", "model.mge", "a\x1b[31m"], A_LINE),
                (["b-program", "model.mge", "x" * 4097], A_LINE),
                (["b-program", "model.mge", *["--cpu"] * 10_000], "expected at most 10000"),
            ],
        ),
    ],
)
def test_every_value_is_held_to_its_shape(name: str, change: Change, said: str) -> None:
    found = refused(name, change)
    assert said in found, found


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: bundle(scenarios=(scenario(), scenario())), f"'{ID}', expected each name once"),
        (lambda: bundle(devices=(device(), device())), "'pixel-6', expected each name once"),
        (lambda: time_bundle(bundle_contest(), bundle_contest()), "nchw88', expected each name"),
        (
            lambda: bundle_contest(
                contest=contest(
                    rival=replace(
                        contestant(Side.RIVAL, "b"),
                        commands=tuple(
                            replace(each, iterations=3000)
                            for each in contestant(Side.RIVAL, "b").commands
                        ),
                    ),
                    budget=ContestBudget(rounds=400),
                )
            ),
            "times: found 1205600, expected at most 1000000",
        ),
    ],
)
def test_what_comes_twice_or_in_masses_is_refused(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()


def test_counts_are_bounded() -> None:
    rows = [{"id": f"m{n}/s@any", "class": "any", "binding": "b" * 64} for n in range(10_001)]
    assert "found" in refused("proven", put("proven", value=rows))
    many = bundle(scenarios=(), proven=tuple(proven(row["id"]) for row in rows[:10_000]))
    assert parse_bundle(dump(many), source="x") == many


@pytest.mark.parametrize(
    "more",
    [
        ("--fast-run",),
        ("--fast-run-algo-policy", "b-algo.cache"),
        ("--layout-transform-dump", "b-dumped.mge"),
        ("--input", "data:input0.npy", "--cpu"),
    ],
)
def test_a_command_names_its_own_files(more: tuple[str, ...]) -> None:
    rival = contestant(Side.RIVAL, "nchw88")
    step = replace(rival.commands[0], argv=("b-program", "b-dumped.mge", *more))
    asked = bundle_contest(contest=contest(rival=replace(rival, commands=(step,))))

    assert parse_bundle(dump(time_bundle(asked)), source="x").contests == (asked,)


def test_what_it_holds_is_found() -> None:
    other = scenario(id="m/s@big", cpu_class="big")
    trace = replace(
        TRACE,
        devices=(device(), device(name="auto-big", cpu_class="big", runner=False)),
        scenarios=(scenario(), other),
    )
    none = time_bundle(*UNHELD, scenarios=(), programs={})

    assert trace.program(Variant.PROFILE) == "4" * 64
    assert bundle().program(Variant.PROFILE) is None
    assert [*trace.runner_classes(), *trace.of_class("big")] == ["any", other]
    assert [WHOLE["named"].program(each) for each in (Link.NAMED, DROPPED)] == [*NAMED.values()]
    assert bundle().program(DROPPED) is None
    assert APPLICATION.program(Variant.REDUCED, "classify") == "4" * 64
    assert APPLICATION.program(Variant.PROFILE, "classify") is None
    assert APPLICATION.program(Variant.PLAIN) is None
    assert APPLICATION.companion_files(Variant.PLAIN, "classify") == {"libengine.so": "6" * 64}
    assert APPLICATION.companion_files(Variant.PLAIN, "") == {}
    assert WHOLE["unheld"].of_class("any") == time_bundle().of_class("any") == (bundle_contest(),)
    assert (none.contests, none.of_class("any"), time_bundle().of_class("big")) == ((), (), ())
    assert [each.subject for each in UNHELD] == ["nchw4", "trimming-reduced", "nchw88"]
    assert bundle_contest().variants == {Side.REFERENCE: "plain", Side.RIVAL: "plain"}
    with pytest.raises(TypeError, match="nchw4 is not held"):
        _ = UNHELD[0].held


@pytest.mark.parametrize("devices", [(), (device(runner=False),)])
def test_a_bundle_that_asks_for_nothing_needs_no_device(devices: tuple[BundleDevice, ...]) -> None:
    empty: Bundle = bundle(devices=devices, scenarios=())
    assert empty.scenarios == ()


def test_a_binding_is_of_everything_but_the_device() -> None:
    named = {"plain": "1", "device kind": "qemu", "arguments": "--cpu"}
    text = '[["arguments", "--cpu"], ["plain", "1"]]'

    assert binding(named) == hashlib.sha256(text.encode()).hexdigest()
    assert binding(named | {"device kind": "local", "device cpu": "a76"}) == binding(named)
    assert binding(named | {"plain": "2"}) != binding(named)
    assert binding(named | {"devices": "2"}) != binding(named)


def test_a_folder_is_read_by_its_digest(tmp_path: Path) -> None:
    path = tmp_path / "bundle.json"
    text = dump(bundle())
    path.write_text(text, encoding="utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()

    assert read_bundle(tmp_path, sha256=digest) == read_bundle(tmp_path) == bundle()
    # A workflow whose build job printed none hands on an empty one: that is no "any will do".
    for other in ("0" * 64, ""):
        with pytest.raises(InputError) as caught:
            read_bundle(tmp_path, sha256=other)
        assert caught.value.message == f"{path}: its sha256 is {digest}, expected {other}"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (None, ": cannot be read: No such file or directory"),
        (b"\xff", ":1: found the byte 0xff, which is not UTF-8, expected text"),
        (b"null", ":1: top level: found None, expected an object"),
    ],
)
def test_a_folder_without_a_whole_document_is_refused(
    tmp_path: Path, data: bytes | None, said: str
) -> None:
    path = tmp_path / "bundle.json"
    if data is not None:
        path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_bundle(tmp_path)

    assert caught.value.message == f"{path}{said}"
