import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from megtrim.core.config.document import parse_document
from megtrim.core.config.items import read_items
from megtrim.core.config.json_schema import make_json_schema
from megtrim.core.config.problems import ConfigError
from unit.core.config.support import load

EXAMPLES = Path(__file__).parents[4] / "examples"
VALIDATOR = Draft202012Validator(make_json_schema())
PLACES = {"version": 1, "engine": 2, "model": 3, "scenario": 4}
"""Lines of the sections that every file has; any other section is on line 5."""

BOARD = "[{name: d, kind: ssh, class: any, host: b, "
LIMIT = "[{artifact: load_and_run, max: 5, "
WRONG = [
    ("version", "2", "version"), ("engine", "sample", "engine"),
    ("engine", "{kind: megengin}", "engine.kind"),
    ("engine", "{kind: sample, target: [a]}", "engine.target"),
    ("engine", "{kind: sample, sauce: x}", "engine.sauce"),
    ("engine", "{kind: sample, cmake: {MGE_X: 1.5}}", "engine.cmake.MGE_X"),
    ("engine", "{kind: sample, cmake: {-DX: 1}}", "engine.cmake.-DX"),
    ("engine", '{kind: sample, cmake: {MGE_X: "a\\nb"}}', "engine.cmake.MGE_X"),
    ("engine", '{kind: sample, target: "load_and_run\\n"}', "engine.target"),
    ("toolchain", "zig", "toolchain"), ("toolchain", "{kind: zigg}", "toolchain.kind"),
    ("toolchain", "{jobs: 0}", "toolchain.jobs"),
    ("toolchain", "{jobs: many}", "toolchain.jobs"),
    ("toolchain", "{jobs: 1.5}", "toolchain.jobs"),
    ("toolchain", "{jobs: true}", "toolchain.jobs"),
    ("toolchain", "{kind: zig, ndk: r21e}", "toolchain.ndk"),
    ("toolchain", "{kind: ndk, ndk: 21e}", "toolchain.ndk"),
    ("toolchain", "{kind: ndk, abi: x86_64}", "toolchain.abi"),
    ("toolchain", "{kind: ndk, api: 16}", "toolchain.api"),
    ("toolchain", "{fp16: true}", "toolchain.fp16"),
    ("toolchain", "{kind: ndk, abi: armeabi-v7a, fp16: true}", "toolchain.fp16"),
    ("toolchain", "{clang: 16}", "toolchain.clang"),
    ("toolchain", "{kind: ndk, pages: 16384}", "toolchain.pages"),
    ("toolchain", "{kind: host, pages: 4 KiB}", "toolchain.pages"),
    ("toolchain", "{kind: ndk, stl: gnustl_static}", "toolchain.stl"),
    ("toolchain", "{kind: zig, stl: c++_static}", "toolchain.stl"),
    ("toolchain", "{kind: host, prefer: zig}", "toolchain.prefer"),
    ("toolchain", "{image: An Image}", "toolchain.image"), ("toolchains", "zig", "toolchains"),
    ("toolchains", "[]", "toolchains"), ("toolchains", "{a: {kind: zig}}", "toolchains"),
    ("toolchains", "[zig]", "toolchains[0]"),
    ("toolchains", "[{kind: zig}]", "toolchains[0].name"),
    ("toolchains", "[{name: a}, {name: Linux}]", "toolchains[1].name"),
    ("toolchains", "[{name: a}, {name: arm_64}]", "toolchains[1].name"),
    ("toolchains", "[{name: a, kind: gcc}]", "toolchains[0].kind"),
    ("toolchains", "[{name: a, flags: -O3}]", "toolchains[0].flags"),
    ("toolchains", "[{name: a, kind: zig, abi: arm64-v8a}]", "toolchains[0].abi"),
    ("toolchains", "[{name: b}, {name: a, kind: ndk, api: 16}]", "toolchains[1].api"),
    ("toolchains", "[{name: a, trim: {base: plain}}]", "toolchains[0].trim.base"),
    ("toolchains", "[{name: a}]\ntoolchain: {kind: zig}", "toolchain"),
    ("toolchains", "[{name: a}]\nbaseline: sizes.json", "baseline"),
    ("toolchains", "[{name: a}]\nclasses: [{name: any, toolchains: a}]", "classes[0].toolchains"),
    ("toolchains", "[{name: a}]\nclasses: [{name: any, toolchains: []}]", "classes[0].toolchains"),
    (
        "toolchains",
        "[{name: a}]\nclasses: [{name: any, toolchains: [a, a]}]",
        "classes[0].toolchains[1]",
    ),
    ("trim", "5", "trim"), ("trim", "{level: functions}", "trim.level"),
    ("trim", "{minimum_size: yes}", "trim.minimum_size"),
    ("trim", "{crash_ids: true, layout: upstream}", "trim.crash_ids"),
    ("trim", "{base: plain}", "trim.base"), ("trim", "{keep: [my::*]}", "trim.keep"),
    ("trim", "{level: function, keep: [' a']}", "trim.keep[0]"),
    ("trim", "{exports: [a]}", "trim.exports"), ("trim", "{exports: []}", "trim.exports"),
    ("trim", "{level: function, exports: ['@apps']}", "trim.exports[0]"),
    ("trim", "{level: function, base: plain, layout: scoped}", "trim.layout"),
    ("trim", "{switches: {rtti: true}}", "trim.switches.rtti"),
    ("trim", "{means: {small_code: O3}}", "trim.means.small_code"),
    ("trim", "{on_missing: maybe}", "trim.on_missing"),
    ("trim", "{on_missing: error}", "trim.on_missing"),
    ("trim", "{level: deferred, on_missing: error}", "trim.on_missing"),
    ("trim", "{errors: [{exports: a, returns: 0}]}", "trim.errors"),
    ("trim", "{level: function, on_missing: error, errors: []}", "trim.errors"),
    ("trim", "{errors: [{exports: a}]}", "trim.errors[0].returns"),
    ("trim", "{errors: [{exports: a, returns: none}]}", "trim.errors[0].returns"),
    ("trim", "{errors: [{exports: a, returns: 2147483648}]}", "trim.errors[0].returns"),
    ("trim", "{errors: [{exports: a, returns: 0, handle: first}]}", "trim.errors[0].handle"),
    ("trim", "{errors: [{exports: a, returns: 0, handle: []}]}", "trim.errors[0].handle"),
    ("trim", "{level: blocks}", "trim.level"),
    ("trim", "{level: blocks, base: reduced}", "trim.level"),
    ("trim", "{level: blocks, base: plain}\ntoolchain: {kind: zig}", "trim.level"),
    ("toolchains", "[{name: a, kind: zig}]\ntrim: {level: blocks, base: plain}", "trim.level"),
    ("toolchains", "[{name: a, trim: {level: blocks}}]", "toolchains[0].trim.level"),
    (
        "toolchains",
        "[{name: a, kind: host, trim: {level: blocks, base: plain}}]",
        "toolchains[0].trim.level",
    ),
    ("trim", "{relocations: packed}", "trim.relocations"), ("classes", "any", "classes"),
    ("classes", "[]", "classes"), ("classes", "[{name: no spaces}]", "classes[0].name"),
    ("classes", "[{name: any, qemu_cpu: -cpu max}]", "classes[0].qemu_cpu"),
    ("devices", "[{name: d, kind: usb, class: any}]", "devices[0].kind"),
    ("devices", "[{name: d}]", "devices[0].class"),
    ("devices", "[{name: d, class: any, serial: X}]", "devices[0].serial"),
    ("devices", "[{name: d, kind: adb, class: any}]", "devices[0]"),
    ("devices", "[{name: d, kind: adb, class: any, serial: 1}]", "devices[0].serial"),
    ("devices", "[{name: d, kind: adb, class: any, serial: A, match: {a: b}}]", "devices[0].match"),
    ("devices", "[{name: d, kind: ssh, class: any}]", "devices[0].host"),
    ("devices", "[{name: d, kind: ssh, class: any, host: b, port: 0}]", "devices[0].port"),
    ("devices", "[{name: d, kind: ssh, class: any, host: a b}]", "devices[0].host"),
    ("devices", BOARD + "runner: true, key: id}]", "devices[0].key"),
    ("devices", BOARD + "cool_down: {below: 5}}]", "devices[0].cool_down.below"),
    ("devices", BOARD + "cool_down: {below: 40, within: 0 s}}]", "devices[0].cool_down.within"),
    ("devices", "[{name: d, kind: qemu, class: any, cpus: 4}]", "devices[0].cpus"),
    ("devices", "[{name: d, kind: virtual-phone, class: any, cpus: 4-}]", "devices[0].cpus"),
    ("applications", "[{name: a, library: shared}]", "applications[0].library"),
    ("applications", "[{name: a, cmake: {X: 1}}]", "applications[0].cmake"),
    ("applications", "[{name: a, lto: thin}]", "applications[0].lto"),
    ("model", "also: []", "models[0].file"), ("model", "file: 5", "models[0].file"),
    ("model", "file: m.mge, also: 3", "models[0].also"),
    ("model", "file: m.mge, strip_info: []", "models[0].strip_info"),
    ("model", "file: m.mge, also: [5]", "models[0].also[0]"),
    ("scenario", "", "models[0].scenarios"), ("scenario", "s", "models[0].scenarios[0]"),
    ("scenario", "{name: 5}", "models[0].scenarios[0].name"),
    ("scenario", "{name: s, threads: 0}", "models[0].scenarios[0].threads"),
    ("scenario", "{name: s, threads: [1, many]}", "models[0].scenarios[0].threads"),
    ("scenario", "{name: s, threads: [2, 2]}", "models[0].scenarios[0].threads"),
    ("scenario", "{name: s, threads: []}", "models[0].scenarios[0].threads"),
    ("scenario", "{name: s, args: --cpu}", "models[0].scenarios[0].args"),
    ("scenario", "{name: s, args: [0.10]}", "models[0].scenarios[0].args[0]"),
    ("scenario", "{name: s, args: [--cpu, --fast-run]}", "models[0].scenarios[0].args[1]"),
    ("scenario", "{name: s, fast_run: 1}", "models[0].scenarios[0].fast_run"),
    ("scenario", "{name: s, timeout: 0 s}", "models[0].scenarios[0].timeout"),
    ("scenario", "{name: s, timeout: 10 parsecs}", "models[0].scenarios[0].timeout"),
    ("scenario", "{name: s, tolerance: -1}", "models[0].scenarios[0].tolerance"),
    ("scenario", "{name: s, tolerance: little}", "models[0].scenarios[0].tolerance"),
    ("scenario", "{name: s, relative_tolerance: 1}", "models[0].scenarios[0].relative_tolerance"),
    (
        "scenario",
        "{name: s, relative_tolerance: 100%}",
        "models[0].scenarios[0].relative_tolerance",
    ),
    ("scenario", "{name: s, classes: []}", "models[0].scenarios[0].classes"),
    ("scenario", "{name: s, classes: [any, any]}", "models[0].scenarios[0].classes[1]"),
    ("scenario", "{name: s, inputs: {'a:b': m.mge}}", "models[0].scenarios[0].inputs.a:b"),
    ("scenario", "{name: s, environment: [A]}", "models[0].scenarios[0].environment"),
    (
        "scenario",
        "{name: s, environment: {LD_PRELOAD: x.so}}",
        "models[0].scenarios[0].environment.LD_PRELOAD",
    ),
    ("scenario", "{name: s, environment: {PATH: x}}", "models[0].scenarios[0].environment.PATH"),
    ("scenario", "{name: s, environment: {A: true}}", "models[0].scenarios[0].environment.A"),
    ("scenario", '{name: s, environment: {A: "b\\nc"}}', "models[0].scenarios[0].environment.A"),
    ("verify", "{max_age: 14 fortnights}", "verify.max_age"),
    ("verify", "{max_age: -5}", "verify.max_age"),
    ("verify", "{unverified: pass}", "verify.unverified"),
    ("artifacts", "load_and_run", "artifacts"), ("artifacts", "[liblite.a]", "artifacts[0]"),
    ("budgets", "3 MiB", "budgets"), ("budgets", "[{artifact: load_and_run}]", "budgets[0]"),
    ("budgets", "[{artifact: load_and_run, max: 3 mebibytes}]", "budgets[0].max"),
    ("budgets", "[{artifact: load_and_run, max: 1.5 B}]", "budgets[0].max"),
    ("budgets", "[{artifact: load_and_run, growth: -16 KiB}]", "budgets[0].growth"),
    ("budgets", "[{artifact: load_and_run, growth: 100%}]", "budgets[0].growth"),
    ("budgets", "[{artifact: load_and_run, growth: 5%, warn: 90%}]", "budgets[0].warn"),
    ("budgets", "[{artifact: load_and_run, growth: 5%, ratchet: 1}]", "budgets[0].ratchet"),
    ("budgets", "[{artifact: load_and_run, max: 5, size: packed}]", "budgets[0].size"),
    ("budgets", "[{artifact: load_and_run, max: 5, section: a b}]", "budgets[0].section"),
    ("budgets", "[{artifact: load_and_run, max: 5, component: .x}]", "budgets[0].component"),
    ("budgets", '[{artifact: load_and_run, max: 5, owner: ""}]', "budgets[0].owner"),
    ("budgets", "[{artifact: load_and_run, max: 8%, model: m}]", "budgets[0].max"),
    ("budgets", "[{artifact: load_and_run, max: 8%, variant: plain}]", "budgets[0].max"),
    ("budgets", LIMIT + "section: .text, component: kernels}]", "budgets[0].component"),
    ("budgets", LIMIT + "size: loaded, section: .text}]", "budgets[0].size"),
    ("budgets", LIMIT + "variant: plain, component: kernels}]", "budgets[0].component"),
    ("budgets", "[{artifact: load_and_run, max: 5, variant: reduce}]", "budgets[0].variant"),
    ("waivers", "[{budget: x, bytes: 1, reason: '', owner: a, expires: 2027-01-31}]",
     "waivers[0].reason"),
    ("waivers", "[{budget: x, bytes: 1, reason: r, owner: a, expires: tomorrow}]",
     "waivers[0].expires"),
    ("perf", "{threshold: 1}", "perf.threshold"), ("perf", "{threshold: 0%}", "perf.threshold"),
    ("perf", "{floor: 5}", "perf.floor"),
    ("perf", "{budget: {rounds: 1}}", "perf.budget.rounds"),
    ("perf", "{recipes: [risc]}", "perf.recipes[0]"),
    ("perf", "{classes: [any, any]}", "perf.classes[1]"),
    ("perf", "{history: {folder: a, branch: b}}", "perf.history.branch"),
    ("perf", "{history: {branch: -b}}", "perf.history.branch"), ("speed", "fast", "speed"),
]  # fmt: skip

RIGHT = [
    ("engine", "{kind: sample, cmake: {MGE_X: true, MGE_Y: 1, MGE_Z: a b}}"),
    ("toolchain", "{jobs: 1_000}"),
    ("toolchain", "{kind: ndk, api: 21, pages: 4 KiB}"),
    ("toolchain", "{kind: ndk, abi: armeabi-v7a, api: 16}"),
    ("toolchains", "[{name: a}]"),
    ("toolchains", "[{name: b, kind: ndk, api: 30, trim: {relocations: relr}}, {name: a}]"),
    ("toolchains", "[{name: a}]\nbudgets: [{artifact: load_and_run, max: 5, toolchains: [a]}]"),
    ("trim", "{level: function, keep: [my::*, src/log/]}"),
    ("trim", "{minimum_size: false, switches: {rtti: true}}"),
    ("trim", "{level: blocks, base: plain}"),
    ("toolchains", "[{name: a, trim: {level: blocks, base: plain}}, {name: b, kind: zig}]"),
    ("trim", "{level: blocks, base: plain}\ntoolchain: {kind: clang-linux-arm64, clang: 22}"),
    ("trim", ""),
    ("devices", "[{name: d, kind: adb, class: any, serial: A1, cool_down: {below: 40.5}}]"),
    ("devices", "[{name: d, kind: ssh, class: any, host: b.lab, runner: true, key: ~/.ssh/id}]"),
    ("devices", "[{name: d, class: any, sysroot: /usr/aarch64-linux-gnu}]"),
    ("scenario", "{name: s, threads: [1, 2, 4]}"),
    ("scenario", "{name: s, threads: 8}"),
    ("scenario", "{name: s, args: [--cpu, --iter, 10], environment: {OMP_NUM_THREADS: 1, A: ''}}"),
    ("scenario", "{name: s, tolerance: 1e-5, relative_tolerance: 1e-3}"),
    ("scenario", "{name: s, tolerance: 1e5, relative_tolerance: 0.5%, timeout: 90}"),
    ("scenario", "{name: s, timeout: 1.5 hours, classes:}"),
    ("verify", ""),
    ("verify", "{tolerance: 0, max_age: 2 weeks, unverified: fail}"),
    ("budgets", "[{artifact: load_and_run, max: 1_048_576, growth: 0}]"),
    ("budgets", "[{artifact: load_and_run, section: .text, warn: 4 MiB, owner: the team}]"),
    ("budgets", "[{artifact: load_and_run, component: C++ library, warn_growth: 1%}]"),
    ("budgets", "[{artifact: load_and_run, size: deflated, max: 8%, ratchet: 2%}]"),
    ("budgets", "[{artifact: load_and_run, max: 2.5 MiB, warn: 95%, growth: 5%}]"),
    ("budgets", "[{artifact: load_and_run, max: '1,024'}]"),
    ("budgets", ""),
    ("waivers", ""),
    ("perf", "{threshold: 2.5%, floor: 0, other_load: any, budget: {rounds: 40, time: 5 minutes}}"),
    ("perf", "{floor: 0.05 ms, recipes: [arm], history: {branch: perf-history}}"),
]


def make_file(section: str, value: str) -> str:
    """Return a configuration that is right but for one section."""
    given = {"version": "1", "engine": "{kind: sample}", "model": "file: m.mge"}
    given |= {"scenario": "{name: s}", section: value}
    lines = [
        f"version: {given['version']}",
        f"engine: {given['engine']}",
        f"models: [{{name: m, {given['model']},",
        f"  scenarios: [{given['scenario']}]}}]",
    ]
    more = {key: text for key, text in given.items() if key not in PLACES}
    return "\n".join([*lines, *(f"{key}: {text}" for key, text in more.items())]) + "\n"


@pytest.mark.parametrize(("section", "value", "key"), WRONG)
def test_wrong_files_are_refused_by_both(
    tmp_path: Path, section: str, value: str, key: str
) -> None:
    """The parser names file, line and key; an editor that knows the schema marks it, too."""
    text = make_file(section, value)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text, "a" if section == "toolchains" else "")

    lines = caught.value.message.splitlines()
    line = PLACES.get(section, 5)
    line = 4 if key == "models[0].scenarios" else line
    line += section == "toolchains" and not key.startswith("toolchains")
    assert [each for each in lines if each.startswith(f"{tmp_path}/megtrim.yaml:{line}: {key}: ")]
    assert not VALIDATOR.is_valid(parse_document(text.encode(), file="megtrim.yaml").data)


def test_there_are_many_wrong_files() -> None:
    assert len({(section, value) for section, value, _ in WRONG}) == len(WRONG) >= 60


@pytest.mark.parametrize(("section", "value"), RIGHT)
def test_what_is_right_is_taken_by_both(tmp_path: Path, section: str, value: str) -> None:
    text = make_file(section, value)
    load(tmp_path, text, "a" if section == "toolchains" else "")

    assert list(VALIDATOR.iter_errors(parse_document(text.encode(), file="a").data)) == []


@pytest.mark.parametrize(
    "file", sorted(EXAMPLES.rglob("*megtrim*.yaml")) + sorted(EXAMPLES.glob("*.yaml")), ids=str
)
def test_the_examples_are_taken(file: Path) -> None:
    document = parse_document(file.read_bytes(), file=str(file))

    assert list(VALIDATOR.iter_errors(document.data)) == []
    assert list(VALIDATOR.iter_errors(read_items(document, file.parent).data)) == []


def test_it_is_a_schema_and_the_same_every_time() -> None:
    Draft202012Validator.check_schema(make_json_schema())

    assert json.dumps(make_json_schema()) == json.dumps(make_json_schema())
