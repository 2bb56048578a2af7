from pathlib import Path

import pytest

from megtrim.core.build_spec import LOADED_FROM, LOWEST_API, Relocations
from megtrim.core.config.problems import ConfigError
from megtrim.places.compile.toolchains import ndk
from unit.core.config.support import ENGINE, SMALL, load

BUDGET = "budgets: [{artifact: load_and_run, "
CLASS = "classes: [{name: c, qemu_cpu: cortex-a53}]\ndevices: [{name: d, class: c, "
HOSTED = CLASS.replace("cortex-a53", "cortex-a53, runner: ubuntu-24.04-arm")


def refused(folder: Path, text: str) -> list[str]:
    """Return the problems of a configuration, each from its line on."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    return [str(each).removeprefix(f"{folder}/megtrim.yaml:") for each in caught.value.problems]


def test_what_is_joined_is_searched_for(tmp_path: Path) -> None:
    """A recorded cache would be a second one next to the joined one."""
    recorded = scenario("fast_run: true, algo_cache: m.mge, args: ['{model}', '{algo_cache}']")
    project = "engine: {kind: cmake, source: ., target: t}\nscenarios: [{name: s, args: [a]}]\n"
    joined = "trim: {caches: joined}\n"

    (found,) = refused(tmp_path, recorded + joined)
    expected = "expected fast_run: true alone, or this file in all scenarios"
    assert f"algo_cache: found a recorded cache next to trim.caches: joined, {expected}" in found
    found = refused(tmp_path, f"version: 1\n{project}{joined}")[0]
    assert "trim.caches: found joined with kind: cmake, whose scenarios do not search" in found
    found = refused(tmp_path, f"{SMALL}{joined}")[0]
    assert "trim.caches: found joined, and no scenario that searches" in found


def scenario(keys: str) -> str:
    """Return a configuration whose only scenario, of an application, has these keys."""
    models = f"models: [{{name: m, file: m.mge, scenarios: [{{name: s, {keys}}}]}}]\n"
    return f"{ENGINE}applications: [{{name: app}}]\n{models}"


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ("    also: c.mge", "8: models[0].also: found 'c.mge', no such file"),
        ("applications: [{name: trace.txt}]", "8: applications[0].name: found 'trace.txt', "),
        ("applications: [{name: input0.npy}]", "8: applications[0].name: found 'input0.npy', "),
        ("applications: [{name: a, cmake: {X: 1}}]", "8: applications[0].cmake: found cmake"),
        (
            "applications: [{name: a, source: app, cmake: {CMAKE_TOOLCHAIN_FILE: x}}]",
            "8: applications[0].cmake.CMAKE_TOOLCHAIN_FILE: found an option that megtrim sets",
        ),
        (
            "applications: [{name: a, source: app, cmake: {MEGTRIM_ENGINE_SOURCE: x}}]",
            "8: applications[0].cmake.MEGTRIM_ENGINE_SOURCE: found an option that megtrim sets",
        ),
        *(
            (f"toolchain: {{kind: host, {key}}}", f"8: toolchain.{key.partition(':')[0]}: found a")
            for key in (
                "ndk: r21e",
                "abi: arm64-v8a",
                "api: 21",
                "fp16: true",
                "pages: 4 KiB",
                "stl: c++_static",
            )
        ),
        ("toolchain: {kind: zig, prefer: zig}", "8: toolchain.prefer: found a key of kind auto on"),
        ("toolchain: {kind: ndk, clang: 16}", "8: toolchain.clang: found a key of kind clang-"),
        ("toolchain: {kind: ndk, api: 19}", "8: toolchain.api: found 19 for arm64-v8a, expected"),
        (
            "toolchain: {kind: ndk, abi: armeabi-v7a, api: 16, fp16: true}",
            "8: toolchain.fp16: found fp16 for armeabi-v7a, expected abi: arm64-v8a",
        ),
        *(
            (
                f"toolchain: {{kind: ndk, {key}}}\ntrim: {{relocations: {packing}}}",
                f"9: trim.relocations: found '{packing}' for phones from API level {level} on",
            )
            for key, packing, level in (
                ("api: 22", "android", 22),
                ("abi: arm64-v8a", "android", 21),
                ("api: 29", "relr", 29),
            )
        ),
        *(
            (
                f"toolchain: {{kind: {kind}}}\ntrim: {{relocations: {packing}}}",
                f"9: trim.relocations: found '{packing}' with a toolchain of kind {kind}",
            )
            for kind, packing in (
                ("host", "android"),
                ("host", "relr"),
                ("clang-linux-arm64", "android"),
            )
        ),
        *(
            (f"trim:\n  {level}\n  {key}", f"10: trim.{key.partition(':')[0]}: found a key that")
            for level in ("level: region", "optimize: size")
            for key in ("base: plain", "keep: [f]")
        ),
        *(
            (
                f"trim: {{level: function, base: plain, {key}}}",
                f"8: trim.{key.partition(':')[0]}: found a key of reduced builds, and base: plain",
            )
            for key in ("layout: scoped", "minimum_size: true", "switches: {rtti: false}")
        ),
        ("trim: {crash_ids: true, layout: upstream}", "8: trim.crash_ids: found true next to"),
        ("trim: {level: blocks}", "8: trim.level: found blocks next to base: region, whose"),
        (
            "trim:\n  switches:\n    logging: false\n    exceptions: true",
            "11: trim.switches.exceptions: found true, which minimum_size: true forces off, expect",
        ),
        (
            "trim: {minimum_size: false, means: {lto: full, unwind_tables: false}}",
            "8: trim.means.unwind_tables: found false while exceptions are on, which unwind",
        ),
        *(
            (f"trim: {{{keys}}}", "8: trim.means.virtual_functions: found false without lto: full")
            for keys in (
                "means: {virtual_functions: false}",
                "optimize: size, means: {virtual_functions: false, lto: none}",
            )
        ),
        (
            "trim: {means: {lto: none}}\napplications: [{name: a}, {name: b, lto: full}]",
            "8: trim.means.lto: found none while the application b asks for full, expected full",
        ),
        *(
            (f"{BUDGET}{keys}}}]", f"8: budgets[0]{problem}")
            for keys, problem in (
                (
                    "section: .text, component: kernels, max: 1",
                    ".component: found component next to section, expected one of them",
                ),
                ("size: loaded, section: .text, max: 1", ".size: found size: 'loaded' next to sec"),
                ("component: kernals, max: 1", ".component: found 'kernals', expected C library"),
                ("component: kernels/x87, max: 1", ".component: found 'kernels/x87', expected C l"),
                ("model: resnet, max: 1", ".model: found 'resnet', expected m"),
                ("component: kernels, variant: plain, max: 1", ".component: found component of th"),
                ("section: .text", ": found a budget without a limit, expected max, growth, warn"),
                ("warn: 90%", ".warn: found a share, '90%', of no limit, expected a size, or max"),
                ("growth: 1%, ratchet: 1 KiB", ".ratchet: found a ratchet without a limit"),
                ("component: kernels, max: 8%", ".max: found '8%' of a component, expected a size"),
                ("variant: plain, max: 8%", ".max: found '8%' of itself, expected a size"),
                ("growth: 1%, warn_growth: 1%", ".warn_growth: found '1%', which is not below gro"),
                ("growth: 1 KiB, warn_growth: 2 KiB", ".warn_growth: found '2 KiB', which is not"),
                ("max: 1 KiB, warn: 100 KiB", ".warn: found '100 KiB', which is not below max"),
            )
        ),
        *(
            (
                f"{HOSTED}\n  kind: {kind}, runner: true}}]",
                f"10: devices[0].kind: found kind {kind.partition(',')[0]} on a machine of GitHub",
            )
            for kind in ("qemu", "virtual-phone", "adb, serial: x", "ssh, host: h", "auto")
        ),
        *(
            (f"perf:\n  {keys}", f"9: perf.{problem}")
            for keys, problem in (
                ("experiments: [nchw99]", "experiments[0]: found 'nchw99', expected an experiment"),
                ("experiments: [nchw88, nchw88]", "experiments[1]: found 'nchw88' a second time"),
                ("recipes: [arm, arm]", "recipes[1]: found 'arm' a second time"),
                ("scenarios: [m/x]", "scenarios[0]: found 'm/x', expected m/s"),
                ("classes: [big]", "classes[0]: found 'big', expected any"),
                ("history: {folder: a, branch: b}", "history.branch: found a branch next to a fol"),
            )
        ),
    ],
)
def test_a_contradiction_is_refused(tmp_path: Path, more: str, problem: str) -> None:
    (tmp_path / "app").mkdir()
    (tmp_path / "app/CMakeLists.txt").touch()

    [found] = refused(tmp_path, f"{SMALL}{more}\n")
    assert found.startswith(problem)


@pytest.mark.parametrize(
    "text",
    [
        *(
            SMALL + more
            for more in (
                f"{CLASS}kind: local}}]\n",
                f"{CLASS}kind: qemu}}]\n",
                f"{CLASS}kind: adb, match: {{ro.product.model: Pixel}}}}]\n",
                f"{CLASS}kind: ssh, host: b, known_hosts: ~/hosts, key: /k, runner: true}}]\n",
                f"{CLASS}kind: ssh, host: b, known_hosts: keys/board}}]\n",
                "    also: m.mge\n  - {name: n, file: m.mge, scenarios: [{name: s}]}\n",
                f"{HOSTED}kind: local, runner: true}}]\n",
                f"{HOSTED}kind: qemu}}]\n",
                "toolchain: {kind: ndk}\n",
                "toolchain: {kind: ndk, ndk: r21e, abi: armeabi-v7a, api: 16}\n",
                "toolchain: {kind: ndk, fp16: true, api: 23}\ntrim: {relocations: android}\n",
                "toolchain: {kind: ndk, api: 30}\ntrim: {relocations: relr}\n",
                "toolchain: {kind: host, fp16: false}\ntrim: {relocations: none}\n",
                "toolchain: {kind: clang-linux-arm64, clang: 16}\ntrim: {relocations: relr}\n",
                "trim: {level: function, base: plain, keep: [f], crash_ids: true}\n",
                "trim: {layout: upstream, crash_ids: false}\n",
                "trim: {means: {unwind_tables: false}}\n",
                "trim: {minimum_size: false, switches: {exceptions: false}, means: {lto: full}}\n",
                "trim: {optimize: size, means: {virtual_functions: false}}\n",
                "trim: {means: {virtual_functions: false, lto: full}}\n",
                f"{BUDGET}section: .text, max: 2 MiB, growth: 1%, owner: runtime}}]\n",
                f"{BUDGET}component: kernels/arm_common, max: 300 KiB}}]\n",
                f"{BUDGET}component: C++ library, growth: 1 KiB}}]\n",
                f"{BUDGET}model: m, max: 300 KiB}}]\n",
                f"{BUDGET}size: deflated, max: 40%}}]\n",
                f"{BUDGET}variant: plain, size: loaded, max: 3 MiB}}]\n",
                f"{BUDGET}warn: 3 MiB}}]\n",
                f"{BUDGET}warn_growth: 8 KiB, growth: 16 KiB}}]\n",
                f"{BUDGET}max: 3 MiB, warn: 95%, ratchet: 16 KiB}}]\n",
            )
        ),
        scenario("application: app, args: ['{model}', '-j{threads}'], threads: 4"),
        scenario("application: app, args: ['{model}', '{input:d}'], inputs: {d: m.mge}"),
        scenario(
            "application: app, args: ['{model}', '{algo_cache}'], algo_cache: m.mge, fast_run: true"
        ),
        scenario("application: app, args: ['{model}', --input]"),
        scenario("args: [--inputs]"),
        SMALL.replace("sample", "megengine, source: ."),
    ],
)
def test_what_fits_together_is_accepted(tmp_path: Path, text: str) -> None:
    assert load(tmp_path, text).warnings == ()


def test_the_folder_of_an_engine_is_a_folder(tmp_path: Path) -> None:
    [problem] = refused(tmp_path, SMALL.replace("sample", "sample, source: m.mge"))
    assert problem.startswith("2: engine.source: found 'm.mge', no such folder, expected the ")


def test_waivers_are_of_budgets(tmp_path: Path) -> None:
    waiver = "bytes: 1, reason: r, owner: o, expires: 2027-01-31}"
    text = (
        f"{SMALL}budgets:\n"
        "- {artifact: load_and_run, max: 1}\n"
        "- {artifact: load_and_run, section: .text, max: 1}\n"
        "- {artifact: load_and_run, variant: plain, size: deflated, max: 1}\n"
        f"waivers:\n- {{budget: load_and_run section .text, {waiver}\n"
        f"- {{budget: load_and_run .text, {waiver}\n"
    )

    names = "load_and_run, load_and_run section .text or load_and_run/plain deflated"
    [problem] = refused(tmp_path, text)
    assert problem.startswith(
        f"14: waivers[1].budget: found 'load_and_run .text', expected {names}"
    )
    [problem] = refused(tmp_path, f"{SMALL}waivers: [{{budget: x, {waiver}]\n")
    assert problem == "8: waivers[0].budget: found 'x', expected a budget that is written above"


def test_levels_are_known_of_every_abi_and_packing() -> None:
    assert LOADED_FROM == {"android": 23, "relr": 30}
    assert LOWEST_API == {"arm64-v8a": 21, "armeabi-v7a": 16}
    assert set(ndk.ABIS) == set(LOWEST_API)
    assert {name.value for name in Relocations} == {"none", *LOADED_FROM}
