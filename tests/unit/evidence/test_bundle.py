"""The bundle's document: equal bytes for equal bundles, and nothing of any other shape."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.build_spec import Link, Variant
from megtrim.evidence.bundle import (
    BundleApplication,
    BundleInput,
    JobPurpose,
    binding,
    dump_bundle,
    parse_bundle,
    read_bundle,
)
from megtrim.evidence.device import BundleDevice
from megtrim.util.errors import InputError
from unit.evidence.support import (
    HOSTILE_DIGESTS,
    HOSTILE_NAMES,
    Change,
    bundle,
    changed,
    device,
    proven,
    put,
    scenario,
)

TEXT = dump_bundle(bundle())
SCENARIO = ("scenarios", 0)
TRACE = bundle(
    purpose=JobPurpose.TRACE,
    programs=(("plain", "3" * 64), ("profile", "4" * 64)),
    keep_set=None,
    scenarios=(scenario(search=True),),
)
RECORD = bundle(
    purpose=JobPurpose.RECORD,
    programs=(("unfolded", "3" * 64), ("probed", "4" * 64), ("observables", "5" * 64)),
    keep_set=None,
    scenarios=(scenario(link="7" * 64),),
    speaks=True,
)


def refused(text: str) -> str:
    """Return what is said of a text that is no bundle."""
    with pytest.raises(InputError) as caught:
        parse_bundle(text, source="bundle.json")
    assert caught.value.hint == (
        "take the bundle of the build job again; `megtrim ci evidence pack` writes it"
    )
    return caught.value.message


@pytest.mark.parametrize(
    "whole", [bundle(), TRACE, RECORD, bundle(scenarios=(), proven=(proven(),))]
)
def test_a_bundle_comes_back_as_it_went(whole: Any) -> None:
    """Also one that only says what is proven."""
    text = dump_bundle(whole)

    assert parse_bundle(text, source="x") == whole
    assert dump_bundle(parse_bundle(text, source="x")) == text


@pytest.mark.parametrize("name", HOSTILE_NAMES)
@pytest.mark.parametrize(
    "path", [("target",), ("machine",), ("devices", 0, "name"), ("devices", 0, "class")]
)
def test_names_that_could_be_paths_or_labels_are_refused(
    path: tuple[str | int, ...], name: str
) -> None:
    """They become names of files, folders and runner labels."""
    said = refused(changed(TEXT, put(*path, value=name)))

    assert said.startswith("bundle.json:1: ")
    assert said.endswith("expected a name of letters, digits, '.', '_' and '-'")


@pytest.mark.parametrize("digest", HOSTILE_DIGESTS)
@pytest.mark.parametrize(
    "path",
    [
        ("keep_set",),
        ("programs", 0, 1),
        (*SCENARIO, "model"),
        (*SCENARIO, "cache"),
        (*SCENARIO, "binding"),
        (*SCENARIO, "inputs", 0, "file"),
    ],
)
def test_a_file_is_named_by_its_digest_alone(path: tuple[str | int, ...], digest: str) -> None:
    """So no name leads out of the folder."""
    said = refused(changed(TEXT, put(*path, value=digest)))

    assert said.endswith("expected a sha256 of 64 hex digits")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put("generation", value=1), "generation: found 1, expected one of midout's header"),
        (put("sysroot", value="a/b"), "found 'a/b', expected an absolute path, or nothing"),
        (
            put("purpose", value="run"),
            "purpose: found 'run', expected one of verify, trace, record or time",
        ),
        (put("keep_set", value=None), "expected one, because devices are to verify"),
        (
            put("programs", 0, 0, value="shell"),
            "'shell', expected one of plain, profile, region, reduced",
        ),
        (put("programs", 1, 0, value="plain"), "programs: found 'plain', expected each name once"),
        (put("programs", value=[["plain", "3" * 64]]), "['plain'], expected plain and reduced"),
        (put(*SCENARIO, "id", value="a/b@other"), "found 'a/b@other', expected MODEL/SCENARIO@any"),
        (put(*SCENARIO, "id", value="../b@any"), "found '../b@any', expected MODEL/SCENARIO@any"),
        (put(*SCENARIO, "threads", value=0), "threads: found 0, expected 1 to 256"),
        (put(*SCENARIO, "threads", value=257), "threads: found 257, expected 1 to 256"),
        (put(*SCENARIO, "timeout_s", value=0), "found 0.0, expected up to a day of seconds"),
        (put(*SCENARIO, "timeout_s", value=86_401), "expected up to a day of seconds"),
        (put(*SCENARIO, "arguments", 0, value="a\x1b[0m"), "one line of at most 4096 characters"),
        (put(*SCENARIO, "arguments", 0, value="x" * 4097), "one line of at most 4096 characters"),
        (put(*SCENARIO, "arguments", value=["--cpu"] * 10_001), "10001, expected at most 10000"),
        (put(*SCENARIO, "arguments", value=["x", "--input=y"]), "--input is not allowed in args"),
        (put(*SCENARIO, "arguments", value=["--flagfile=x"]), "--flagfile is not allowed in args"),
        (put(*SCENARIO, "inputs", 0, "suffix", value="/../x"), "expected one such as .npy"),
        (put(*SCENARIO, "inputs", 0, "suffix", value=".npy\n"), "expected one such as .npy"),
        (put(*SCENARIO, "inputs", 0, "name", value="a:b"), "a name without ':', ';' and spaces"),
        (put(*SCENARIO, "inputs", 0, "name", value=""), "a name without ':', ';' and spaces"),
        (put("devices", 0, "qemu_cpu", value="max -L /"), "expected a CPU's name"),
        (put("devices", 0, "runner", value=1), "devices[0].runner: found 1, expected true or fal"),
        (
            put(*SCENARIO, "tolerance", "absolute", value=-1),
            "absolute: found -1, expected 0 or more",
        ),
        (
            put(*SCENARIO, "tolerance", "relative", value=1),
            "tolerance: found '1 * |plain|', expected one that a difference exceeds",
        ),
        (put("tolerance", value=0), "tolerance: found 0, expected no such key"),
        (put("more", value=1), "more: found 1, expected no such key"),
        (put("version", value=1), "version: found 1, expected 6"),
    ],
)
def test_every_value_is_held_to_its_shape(change: Change, said: str) -> None:
    """One clear message, with the place."""
    assert said in refused(changed(TEXT, change))


def test_things_that_come_twice_are_refused() -> None:
    """Two scenarios of one id, one asked for and proven, two devices or inputs of one name."""
    data = BundleInput(name="data", file="2" * 64, suffix=".npy")
    for changes, name in (
        ({"scenarios": (scenario(), scenario())}, "resnet18-s/default@any"),
        ({"proven": (proven(),)}, "resnet18-s/default@any"),
        ({"devices": (device(), device())}, "pixel-6"),
    ):
        with pytest.raises(ValueError, match=f"found '{name}', expected each name once"):
            bundle(**changes)
    with pytest.raises(ValueError, match="found 'data', expected each name once"):
        scenario(inputs=(data, data))


def test_functions_are_recorded_of_a_link() -> None:
    """Whose identity the list will say; an emulator runs it as it is."""
    with pytest.raises(ValueError, match="link: found None, expected one, because it is recorded"):
        replace(RECORD, scenarios=(scenario(),))
    with pytest.raises(ValueError, match=r"found \['probed'\], expected observables and unfolded"):
        replace(RECORD, programs=(("probed", "4" * 64),))
    with pytest.raises(ValueError, match="link: found 'x', expected a sha256"):
        scenario(link="x")


def test_a_recorded_cache_is_not_searched_for_again() -> None:
    """A bundle that asks for both does not know what it wants."""
    with pytest.raises(ValueError, match="expected none, since a cache is recorded"):
        scenario(cache="6" * 64, search=True)


def test_counts_are_bounded() -> None:
    """Ten thousand scenarios are more than anybody has."""
    many = tuple(proven(f"m{number}/s@any") for number in range(10_001))
    with pytest.raises(ValueError, match="scenarios: found 10001, expected at most 10000"):
        bundle(scenarios=(), proven=many)
    assert len(bundle(scenarios=(), proven=many[:10_000]).proven) == 10_000


@pytest.mark.parametrize("text", ["", "{", "[]", "[" * 100_000, '{"version": 1}', "null", "1e999"])
def test_what_is_no_bundle_at_all_is_refused(text: str) -> None:
    """Nested as deep as one likes."""
    assert refused(text).startswith("bundle.json:1: ")


def test_a_bundle_without_programs_asks_for_nothing() -> None:
    """The build failed; that is known by its verdict."""
    empty = bundle(programs=(), keep_set=None, scenarios=())

    assert parse_bundle(dump_bundle(empty), source="x") == empty
    with pytest.raises(ValueError, match="expected plain and reduced"):
        bundle(programs=())


@pytest.mark.parametrize(
    "devices",
    [
        (),
        (device(runner=False),),
        (device(cpu_class="big"),),
        (device(runner=False), device(name="other", cpu_class="big")),
    ],
)
def test_a_verification_that_no_one_would_hear_of_is_refused(
    devices: tuple[BundleDevice, ...],
) -> None:
    """A trap on a device that is attached to no runner would be dropped without a message."""
    expected = "devices: found 'none', expected a device on a runner that stands for its class"

    with pytest.raises(ValueError, match=expected):
        bundle(devices=devices)
    with pytest.raises(ValueError, match=expected):
        bundle(devices=devices, scenarios=(), proven=(proven(),))
    assert bundle(devices=devices, scenarios=()).scenarios == ()


def test_what_it_holds_is_found() -> None:
    """A variant's program, the classes of runners, the scenarios of a class."""
    other = scenario(id="m/s@big", cpu_class="big")
    whole = bundle(
        purpose=JobPurpose.TRACE,
        programs=(("plain", "3" * 64), ("profile", "5" * 64), ("reduced", "4" * 64)),
        devices=(device(), device(name="auto-big", cpu_class="big", runner=False)),
        scenarios=(scenario(), other),
    )

    assert whole.program(Variant.REDUCED) == "4" * 64
    assert bundle().program(Variant.PROFILE) is None
    assert whole.runner_classes() == {"any"}
    assert whole.of_class("big") == (other,)


def test_a_binding_is_of_everything_but_the_device() -> None:
    """Its digest is that of the sorted inputs as JSON."""
    named = {"plain": "1", "device kind": "qemu", "arguments": "--cpu"}
    text = '[["arguments", "--cpu"], ["plain", "1"]]'

    assert binding(named) == hashlib.sha256(text.encode()).hexdigest()
    assert binding(named | {"device kind": "local", "device cpu": "a76"}) == binding(named)
    assert binding(named | {"plain": "2"}) != binding(named)
    assert binding(named | {"devices": "2"}) != binding(named)


def test_a_folder_is_read_by_its_digest(tmp_path: Path) -> None:
    """That of bundle.json; another one is not the build's."""
    (tmp_path / "bundle.json").write_text(TEXT, encoding="utf-8")
    digest = hashlib.sha256(TEXT.encode()).hexdigest()

    assert read_bundle(tmp_path, sha256=digest) == bundle()
    assert read_bundle(tmp_path) == bundle()
    path = tmp_path / "bundle.json"
    # A workflow whose build job printed none hands on an empty one: that is no "any will do".
    for other in ("0" * 64, ""):
        with pytest.raises(InputError) as caught:
            read_bundle(tmp_path, sha256=other)
        assert caught.value.message == f"{path}: its sha256 is {digest}, expected {other}"


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("nothing", ": cannot be read: No such file or directory"),
        ("folder", ": found a folder, expected a plain file"),
        ("link", ": found a link, expected a plain file"),
        ("latin", ":1: found the byte 0xff, which is not UTF-8, expected text"),
    ],
)
def test_a_folder_without_a_plain_document_is_refused(tmp_path: Path, kind: str, said: str) -> None:
    """A link may lead anywhere on the machine that reads it."""
    path = tmp_path / "bundle.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        other = tmp_path / "other.json"
        other.write_text(TEXT, encoding="utf-8")
        path.symlink_to(other)
    elif kind == "latin":
        path.write_bytes(b"\xff")
    with pytest.raises(InputError) as caught:
        read_bundle(tmp_path)

    assert caught.value.message == f"{path}{said}"


NAMED = (("named", "8" * 64), ("dropped", "9" * 64))


def test_a_named_link_comes_with_its_list() -> None:
    """Where there is one: without, there is nothing of either."""
    whole = bundle(programs=(*bundle().programs, *NAMED))
    found = parse_bundle(dump_bundle(whole), source="x")

    assert (found.program(Link.NAMED), found.find_dropped_list()) == ("8" * 64, "9" * 64)
    assert (bundle().program(Link.NAMED), bundle().find_dropped_list()) == (None, None)
    assert found.find_dropped_list("classify") is None


@pytest.mark.parametrize("alone", NAMED)
def test_a_named_link_without_its_list_is_refused(alone: tuple[str, str]) -> None:
    """It says a number, and the list without it says nothing."""
    programs = [*map(list, bundle().programs), list(alone)]

    said = refused(changed(TEXT, put("programs", value=programs)))

    assert said.endswith("expected named and dropped, or neither")


CLASSIFY = BundleApplication(
    name="classify",
    programs=(("plain", "3" * 64), ("reduced", "4" * 64)),
    companions=(("plain", "libengine.so", "6" * 64), ("reduced", "libengine.so", "7" * 64)),
)
OF_APPLICATION = bundle(
    programs=(),
    applications=(CLASSIFY,),
    scenarios=(scenario(application="classify", arguments=("{model}", "{input:data}")),),
)


def test_an_application_comes_back_with_what_lies_next_to_it() -> None:
    """By variant; the engine's own program need not be there."""
    found = parse_bundle(dump_bundle(OF_APPLICATION), source="x")

    assert found == OF_APPLICATION
    assert found.program(Variant.REDUCED, "classify") == "4" * 64
    assert found.program(Variant.PROFILE, "classify") is None
    assert found.program(Variant.PLAIN) is None
    assert found.companion_files(Variant.PLAIN, "classify") == {"libengine.so": "6" * 64}
    assert found.companion_files(Variant.PLAIN, "") == {}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (put(*SCENARIO, "application", value="other"), "application other: found []"),
        (put(*SCENARIO, "application", value="../x"), "application: found '../x', expected a name"),
        (put(*SCENARIO, "arguments", value=["{modle}"]), "an unknown placeholder {modle}"),
        (put(*SCENARIO, "arguments", value=["{input:x}"]), "['input:x'], expected its inputs"),
        (put("applications", 0, "programs", value=[]), "application classify"),
        (put("applications", 0, "companions", 0, 0, value="profile"), "expected a file of its own"),
        (
            put("applications", 0, "companions", 0, 1, value="classify"),
            "expected a file of its own",
        ),
        (
            put("applications", 0, "companions", 0, 1, value="../lib.so"),
            "expected a name of letters",
        ),
        (put("applications", 0, "companions", 0, 2, value="x"), "expected a sha256"),
    ],
)
def test_every_value_of_an_application_is_held_to_its_shape(change: Change, said: str) -> None:
    """Names become files, and words become command lines."""
    assert said in refused(changed(dump_bundle(OF_APPLICATION), change))
