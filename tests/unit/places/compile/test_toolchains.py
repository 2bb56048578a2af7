import platform
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from megtrim.core.build_spec import Relocations, Toolchain
from megtrim.core.config.toolchain import ToolchainConfig
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.compile.toolchains import clang_linux, host, ndk, splitting, tools, zig
from megtrim.places.compile.toolchains import kinds as toolchain_kinds


def machine(tmp_path: Path, *names: str) -> ProcessRunner:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in names:
        program = folder / name
        program.write_text(f'#!/bin/sh\necho "{name} version 1 $*"\necho more\n', encoding="utf-8")
        program.chmod(0o755)
    return ProcessRunner({"PATH": str(folder)})


def chosen(monkeypatch: pytest.MonkeyPatch, *there: str, emulated: bool, **keys: Any) -> str:
    calls = {
        "clang": (clang_linux, "find"),
        "zig": (zig, "find"),
        "zig native": (zig, "find_native"),
        "host": (host, "find"),
    }
    for name, (module, function) in calls.items():

        def find(*_: object, name: str = name) -> str:
            if name not in there:
                msg = f"no {name}"
                raise InputError(msg)
            return name

        monkeypatch.setattr(module, function, find)
    wanted = ToolchainConfig(kind="auto", **keys)
    return str(toolchain_kinds.find(wanted, ProcessRunner({}), emulated=emulated))


@pytest.mark.parametrize(
    ("there", "emulated", "taken"),
    [
        (("clang", "zig", "zig native", "host"), True, "clang"),
        (("clang", "zig", "zig native", "host"), False, "zig native"),
        (("zig", "zig native", "host"), True, "zig"),
        (("zig", "zig native", "host"), False, "zig native"),
        (("zig native", "host"), True, "zig native"),
        (("host",), True, "host"),
        (("host",), False, "host"),
    ],
)
def test_auto_takes_the_best_that_is_there(
    monkeypatch: pytest.MonkeyPatch, there: tuple[str, ...], emulated: bool, taken: str
) -> None:
    assert chosen(monkeypatch, *there, emulated=emulated) == taken
    liked = chosen(monkeypatch, *there, emulated=emulated, prefer="zig")
    assert liked == ("zig" if taken == "clang" else taken)
    with pytest.raises(InputError) as caught:
        chosen(monkeypatch, emulated=True)
    assert (
        caught.value.message
        == "no C++ compiler was found: no clang; no zig; no zig native; no host"
    )
    assert "pip install ziglang" in caught.value.hint


def test_a_kind_that_was_asked_for_is_taken(tmp_path: Path) -> None:
    here = machine(tmp_path, "g++", "gcc")
    assert toolchain_kinds.find(ToolchainConfig(kind="host"), here, emulated=True).kind == "host"
    with pytest.raises(InputError, match="clang and lld"):
        wanted = ToolchainConfig(kind="clang-linux-arm64")
        toolchain_kinds.find(wanted, ProcessRunner({"PATH": "/nowhere"}), emulated=True)


def test_programs_are_looked_for_on_the_given_path(tmp_path: Path) -> None:
    processes = machine(tmp_path, "tool")

    assert processes.which("tool") == str(tmp_path / "bin" / "tool")
    assert processes.which("sh") is None
    assert ProcessRunner({}).which("sh") is None
    assert tools.need(processes, "tool", hint="") == str(tmp_path / "bin" / "tool")
    assert tools.first_line(processes, str(tmp_path / "bin/tool"), "-v") == "tool version 1 -v"
    with pytest.raises(InputError) as caught:
        tools.need(processes, "gone", hint="get it")
    assert (caught.value.message, caught.value.hint) == (
        "gone is not on the PATH of this machine",
        "get it",
    )


def test_a_tool_that_prints_nothing_is_refused(tmp_path: Path) -> None:
    tool = tmp_path / "g++"
    tool.write_text("#!/bin/sh\n", encoding="utf-8")
    tool.chmod(0o755)

    with pytest.raises(InputError, match="--version prints nothing"):
        tools.first_line(ProcessRunner({}), str(tool), "--version")


@pytest.mark.parametrize(
    ("there", "taken"),
    [
        (("g++", "gcc", "clang++", "clang"), ("gcc", "g++")),
        (("g++", "clang++", "clang"), ("clang", "clang++")),
        (("c++", "cc"), ("cc", "c++")),
    ],
)
def test_the_hosts_own_compiler(
    tmp_path: Path, there: tuple[str, ...], taken: tuple[str, str]
) -> None:
    found = host.find(ToolchainConfig(kind="host"), machine(tmp_path, *there))

    c, cxx = (str(tmp_path / "bin" / name) for name in taken)
    assert found == Toolchain(
        kind="host",
        target=f"{taken[1]} version 1 -dumpmachine\nmore",
        machine=platform.machine(),
        version=f"{taken[1]} version 1 --version",
        c_compiler=(c,),
        cxx_compiler=(cxx,),
        link_flags=("-s", "-Wl,--build-id=none"),
    )


@pytest.mark.parametrize(
    ("kind", "message", "package"),
    [
        (host, "this machine has no C++ compiler", "g++"),
        (
            clang_linux,
            "clang and lld of one version were not found on this machine",
            "clang-14 lld-14",
        ),
    ],
)
def test_a_missing_compiler_is_an_input_error(
    tmp_path: Path, kind: ModuleType, message: str, package: str
) -> None:
    with pytest.raises(InputError) as caught:
        kind.find(ToolchainConfig(kind="auto"), machine(tmp_path))

    assert caught.value.message == message
    assert f"apt-get install {package}" in caught.value.hint


CLANG = ToolchainConfig(kind="clang-linux-arm64")


def test_clang_and_lld_of_one_version_are_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [
        *(f"{name}-15" for name in ("clang", "clang++", "ld.lld")),
        *(f"{name}-15" for name in ("llvm-strip", "llvm-ar", "llvm-ranlib")),
        "clang++-14",
        "clang++",
        "ld.lld",
    ]
    sysroot = tmp_path / "aarch64-linux-gnu"
    monkeypatch.setattr(clang_linux, "_SYSROOTS", tmp_path)
    processes = machine(tmp_path, *names)

    with pytest.raises(InputError) as caught:
        clang_linux.find(CLANG, processes)
    assert caught.value.message == f"the arm64 C library is not in {sysroot} of this machine"

    (sysroot / "lib").mkdir(parents=True)
    (sysroot / "lib" / "ld-linux-aarch64.so.1").touch()
    folder = tmp_path / "bin"
    assert clang_linux.find(CLANG, processes) == Toolchain(
        kind="clang-linux-arm64",
        target="aarch64-linux-gnu",
        machine="aarch64",
        version="clang++-15 version 1 --version",
        c_compiler=(f"{folder}/clang-15",),
        cxx_compiler=(f"{folder}/clang++-15",),
        compile_flags=("--target=aarch64-linux-gnu",),
        link_flags=(
            "--target=aarch64-linux-gnu",
            f"-fuse-ld={folder}/ld.lld-15",
            "-Wl,--build-id=none",
        ),
        strip=(f"{folder}/llvm-strip-15", "--strip-all"),
        archiver=f"{folder}/llvm-ar-15",
        ranlib=f"{folder}/llvm-ranlib-15",
        host_cxx=(f"{folder}/clang++-15",),
        sysroot=sysroot,
    )

    (folder / "llvm-ar-15").unlink()
    with pytest.raises(InputError, match=r"^llvm-ar-15 is not on the PATH"):
        clang_linux.find(CLANG, processes)


@pytest.fixture
def cross(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Toolchain]:
    """Finds a release of clang next to a glibc of one."""

    def find(release: int, glibc: str, *, wanted: int = 0) -> Toolchain:
        tools = ("clang", "clang++", "ld.lld", "llvm-strip", "llvm-ar", "llvm-ranlib")
        processes = machine(tmp_path, *(f"{name}-{release}" for name in tools))
        linker = tmp_path / "bin" / f"ld.lld-{release}"
        linker.write_text(f"#!/bin/sh\necho Debian LLD {release}.0.6\n", encoding="utf-8")
        header = "".join(
            f"#define\t__GLIBC{name}__\t{number}\n"
            for name, number in zip(("", "_MINOR"), glibc.split("."), strict=False)
            if number
        )
        sysroot = tmp_path / "aarch64-linux-gnu"
        for name, text in (("lib/ld-linux-aarch64.so.1", ""), ("include/features.h", header)):
            (sysroot / name).parent.mkdir(parents=True)
            (sysroot / name).write_text(text, encoding="ascii")
        monkeypatch.setattr(clang_linux, "_SYSROOTS", tmp_path)
        spec = ToolchainConfig(kind="clang-linux-arm64", clang=wanted or release)
        return clang_linux.find(spec, processes, Relocations.RELR)

    return find


def test_relocations_are_packed_as_glibc_loads_them(cross: Callable[..., Toolchain]) -> None:
    assert cross(16, "2.36").link_flags[-1] == "-Wl,-z,pack-relative-relocs"


@pytest.mark.parametrize(
    ("release", "wanted", "glibc", "message"),
    [
        (14, 0, "2.36", "trim.relocations: relr needs lld 15 or later, and this is"),
        (16, 0, "2.35", "trim.relocations: relr needs glibc 2.36 or later, and"),
        (16, 0, "", "expected the release of glibc"),
        (16, 15, "2.36", "clang++-15 and ld.lld-15 were not found on this machine"),
    ],
)
def test_what_would_not_load_or_is_not_there_is_refused(
    cross: Callable[..., Toolchain], release: int, wanted: int, glibc: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        cross(release, glibc, wanted=wanted)
    assert message in caught.value.message
    assert not wanted or "apt-get install clang-15 lld-15 llvm-15" in caught.value.hint


NDK = ToolchainConfig(kind="ndk")
LARGE_PAGES = ("-Wl,-z,max-page-size=16384", "-Wl,-z,common-page-size=16384")
TOOL = '#!/bin/sh\necho "$(basename "$0") version 12"\n'


def lay_out(root: Path, *, revision: str = "21.4.7075529", levels: str = "") -> ProcessRunner:
    texts = {
        "source.properties": f"Pkg.Desc = Android NDK\nPkg.Revision = {revision}\n",
        "meta/platforms.json": levels or '{"min": 16, "max": 30, "aliases": {}}',
        "build/cmake/android.toolchain.cmake": "",
    }
    for name, text in texts.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    programs = root / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    programs.mkdir(parents=True)
    for name in ("clang", "clang++", "llvm-strip"):
        (programs / name).write_text(TOOL, encoding="utf-8")
        (programs / name).chmod(0o755)
    return ProcessRunner({"PATH": "/usr/bin:/bin", "ANDROID_NDK_ROOT": str(root)})


def refused(
    processes: ProcessRunner, spec: ToolchainConfig = NDK, packing: Relocations = Relocations.NONE
) -> InputError:
    with pytest.raises(InputError) as caught:
        ndk.find(spec, processes, packing)
    return caught.value


def test_an_ndk_is_found_by_its_variable(tmp_path: Path) -> None:
    found = ndk.find(NDK, lay_out(tmp_path))

    programs = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin"
    assert found.kind == "ndk"
    assert found.target == "aarch64-linux-android21"
    assert (found.machine, found.abi, found.api) == ("aarch64", "arm64-v8a", 21)
    assert found.version == "NDK r21e, clang++ version 12"
    assert found.includes == str(tmp_path / "build/cmake/android.toolchain.cmake")
    assert found.settings == (("ANDROID_ABI", "arm64-v8a"), ("ANDROID_PLATFORM", "android-21"))
    assert found.strip == (str(programs / "llvm-strip"), "--strip-all")
    assert found.link_flags == ("-Wl,--build-id=none", *LARGE_PAGES)
    assert found.page_bytes == 16_384
    assert found.sysroot is None
    assert found.ndk == str(tmp_path)


def test_the_older_abi_and_another_level(tmp_path: Path) -> None:
    wanted = ToolchainConfig(kind="ndk", abi="armeabi-v7a", api=19, fp16=False)
    found = ndk.find(wanted, lay_out(tmp_path))

    assert (found.machine, found.target) == ("arm", "armv7a-linux-androideabi19")
    assert found.identity()["settings"] == "ANDROID_ABI=armeabi-v7a ANDROID_PLATFORM=android-19"


@pytest.mark.parametrize(
    ("abi", "pages", "page_bytes"),
    [
        ("arm64-v8a", "4 KiB", 4096),
        ("armeabi-v7a", None, 4096),
        ("armeabi-v7a", "16 KiB", 16_384),
    ],
)
def test_large_pages_are_a_choice(tmp_path: Path, abi: Any, pages: Any, page_bytes: int) -> None:
    found = ndk.find(ToolchainConfig(kind="ndk", abi=abi, pages=pages), lay_out(tmp_path))

    large = LARGE_PAGES if page_bytes > 4096 else ()
    assert (found.page_bytes, found.link_flags) == (page_bytes, ("-Wl,--build-id=none", *large))


def test_the_runtime_of_the_whole_app_is_found_where_the_ndk_has_it(tmp_path: Path) -> None:
    processes = lay_out(tmp_path)
    shared, static = (
        ndk.find(ToolchainConfig(kind="ndk", stl=stl), processes)
        for stl in ("c++_shared", "c++_static")
    )

    assert dict(shared.settings)["ANDROID_STL"] == "c++_shared"
    assert shared.sysroot == tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/sysroot"
    assert (dict(static.settings)["ANDROID_STL"], static.sysroot) == ("c++_static", None)


@pytest.mark.parametrize(
    ("revision", "release"),
    [
        ("20.0.5594570", "r20"),
        ("20.1.5948944", "r20b"),
        ("21.4.7075529", "r21e"),
        ("22.0.7026061", "r22"),
        ("25.2.9519653", "r25c"),
    ],
)
def test_a_release_is_called_as_people_call_it(revision: str, release: str) -> None:
    for kind, more in (("Android NDK", ""), ("Stand-in for the Android NDK", " (stand-in)")):
        text = f"Pkg.Desc = {kind}\nPkg.Revision = {revision}\n"
        assert ndk.release_of(text, source="source.properties") == release + more


@pytest.mark.parametrize("text", ["", "Pkg.Revision = x.y.z\n", "Pkg.Revision = 21.99.1\n", "21.4"])
def test_what_is_no_release_is_refused(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ndk.release_of(text, source="ndk/source.properties")

    expected = "ndk/source.properties: found no line such as Pkg.Revision = 21.4.7075529"
    assert caught.value.message == expected


def test_no_ndk_is_shown_with_both_remedies() -> None:
    error = refused(ProcessRunner({}))

    assert error.message == "ANDROID_NDK_ROOT is not set on this machine"
    assert "toolchain.image" in error.hint
    assert "absolute path" in refused(ProcessRunner({"ANDROID_NDK_ROOT": "ndk"})).message


@pytest.mark.parametrize(
    "name", ["source.properties", "meta/platforms.json", "build/cmake/android.toolchain.cmake"]
)
def test_an_ndk_that_is_not_whole_is_refused(tmp_path: Path, name: str) -> None:
    processes = lay_out(tmp_path)
    (tmp_path / name).unlink()

    whole = f"{tmp_path} on this machine is not a complete Android NDK: it has no {name}"
    assert refused(processes).message == whole


def test_an_ndk_without_its_compiler_is_refused(tmp_path: Path) -> None:
    processes = lay_out(tmp_path)
    compiler = tmp_path / "toolchains/llvm/prebuilt/linux-x86_64/bin/clang++"
    compiler.chmod(0o644)

    assert refused(processes).message == f"{compiler} is not on the PATH of this machine"


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"ndk": "r20b"}, "{} is NDK r21e, expected r20b"),
        *(
            ({"api": api}, f"NDK r21e builds arm64-v8a for API levels 21 to 30, not for {api}")
            for api in (16, 31, 99)
        ),
    ],
)
def test_what_it_is_not_and_cannot_build_for_is_refused(
    tmp_path: Path, asked: dict[str, Any], message: str
) -> None:
    error = refused(lay_out(tmp_path), ToolchainConfig(kind="ndk", **asked))

    assert error.message == message.format(tmp_path)


@pytest.mark.parametrize(
    "levels",
    [
        "[]",
        "{",
        '{"min": "x", "max": 30}',
        '{"min": 16}',
        "null",
        "[" * 100_000,
        '{"min": 16, "max": Infinity}',
    ],
    ids=range(7),
)
def test_broken_levels_are_refused(tmp_path: Path, levels: str) -> None:
    assert "expected the lowest" in refused(lay_out(tmp_path, levels=levels)).message


@pytest.mark.parametrize(
    ("packing", "api", "flag"),
    [
        (Relocations.ANDROID, 23, "-Wl,--pack-dyn-relocs=android"),
        (Relocations.RELR, 30, "-Wl,--pack-dyn-relocs=relr"),
    ],
)
def test_relocations_are_packed_where_the_loader_takes_it(
    tmp_path: Path, packing: Relocations, api: int, flag: str
) -> None:
    processes = lay_out(tmp_path)
    found = ndk.find(ToolchainConfig(kind="ndk", api=api), processes, packing)
    assert found.link_flags == ("-Wl,--build-id=none", *LARGE_PAGES, flag)

    older = ToolchainConfig(kind="ndk", api=api - 1)
    assert refused(processes, older, packing).message == (
        f"trim.relocations: {packing} needs API level {api} or later, and toolchain.api is "
        f"{api - 1}: older loaders kill the process without a message"
    )


ZIG = ToolchainConfig(kind="zig")


def test_a_missing_zig_is_an_input_error(
    processes: ProcessRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)

    with pytest.raises(InputError) as caught:
        zig.find(ZIG, processes)
    assert caught.value.message == "the package ziglang is not installed"
    assert caught.value.hint == "pip install 'megtrim[zig]'"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ProcessRunner:
    processes = machine(tmp_path, "zig")
    spec = SimpleNamespace(origin=str(tmp_path / "bin" / "__init__.py"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    return processes


@pytest.mark.parametrize(
    ("here", "target"), [("x86_64", "x86_64-linux-musl"), ("arm64", "aarch64-linux-musl")]
)
def test_native_programs_are_for_this_architecture(
    wheel: ProcessRunner, monkeypatch: pytest.MonkeyPatch, here: str, target: str
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: here)

    assert zig.find_native(ZIG, wheel).target == target
    assert zig.find(ZIG, wheel).target == "aarch64-linux-musl"
    monkeypatch.setattr(platform, "machine", lambda: "s390x")
    with pytest.raises(InputError, match=r"^zig has no Linux target for s390x$"):
        zig.find_native(ZIG, wheel)


def test_a_zig_that_the_build_cannot_start_is_refused(wheel: ProcessRunner, tmp_path: Path) -> None:
    (tmp_path / "bin" / "zig").unlink()

    with pytest.raises(InputError, match="but not in this machine") as caught:
        zig.find(ZIG, wheel)
    assert "--no-docker" in caught.value.hint


@pytest.mark.chain
@pytest.mark.parametrize(
    ("find", "architecture"), [(zig.find, "aarch64"), (zig.find_native, platform.machine())]
)
def test_zig_makes_static_programs(
    processes: ProcessRunner, find: toolchain_kinds.Find, architecture: str
) -> None:
    found = find(ZIG, processes)

    target = f"{architecture}-linux-musl"
    assert (found.kind, found.target, found.machine) == ("zig", target, architecture)
    assert found.cxx_compiler[1:] == ("c++",)
    assert found.c_compiler == (found.cxx_compiler[0], "cc")
    assert found.compile_flags == ("-target", target, "-s")
    assert found.link_flags == ("-target", target, "-static", "-s", "-Wl,--build-id=none")
    assert found.compiler_check == f"string:zig {found.version}"
    assert found.sysroot is None


def of(version: str, machine: str = "aarch64", kind: str = "clang-linux-arm64") -> Toolchain:
    return Toolchain(
        kind=kind,
        target=f"{machine}-linux-gnu",
        machine=machine,
        version=version,
        c_compiler=("cc",),
        cxx_compiler=("c++",),
    )


@pytest.mark.parametrize(
    ("toolchain", "said"),
    [
        (of("Debian clang version 22.1.8 (1~deb12u1)"), ""),
        (of("clang version 22.1.0", kind="recorded"), ""),
        (of("Debian clang version 19.1.7"), "y:3: trim.level: clang 19 does not cut functions"),
        (of("Debian clang version 14.0.6"), "y:3: trim.level: clang 14 does not cut functions"),
        (of("clang version 23.1.0"), "y:3: trim.level: clang 23 may not cut functions soundly"),
        (of("gcc 12.2.0", kind="recorded"), "not by gcc 12.2.0 for aarch64-linux-gnu"),
        (of("clang version 22.1.8", "x86_64", "recorded"), ""),
        (of("clang version 22.1.8", "x86_64", "host"), "for x86_64-linux-gnu"),
        (of("clang version 22.1.8", "arm", "recorded"), "for arm-linux-gnu"),
        (of("0.17.0", kind="zig"), "not by 0.17.0"),
    ],
)
def test_only_what_passed_the_test_cuts_functions(toolchain: Toolchain, said: str) -> None:
    try:
        splitting.expect_sound(toolchain, "y:3: trim.level")
        found = ""
    except InputError as error:
        found = error.message
        assert "clang 22 (on Debian: apt-get install clang-22 lld-22 llvm-22)" in str(error.hint)
    assert said in found
    assert bool(said) == bool(found)


@pytest.mark.parametrize(
    ("keys", "kind", "clang"),
    [
        ({"kind": "clang-linux-arm64"}, "clang-linux-arm64", 22),
        ({"kind": "auto"}, "clang-linux-arm64", 22),
        ({"kind": "clang-linux-arm64", "clang": 19}, "clang-linux-arm64", 19),
        ({"kind": "host"}, "host", None),
    ],
)
def test_blocks_have_a_compiler_of_their_own(
    tmp_path: Path, keys: dict[str, Any], kind: str, clang: int | None
) -> None:
    there = machine(tmp_path, "clang++-14", "ld.lld-14", "clang++-22", "ld.lld-22")
    found = splitting.choose(ToolchainConfig(**keys), there)
    assert (found.kind, found.clang) == (kind, clang)
