import struct
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from megtrim.libs.elf.needed_libraries import (
    CxxRuntime,
    Needs,
    find_cxx_runtime,
    list_found_in,
    read_loader,
    read_needs,
)
from megtrim.libs.util.errors import InputError
from unit.libs.elf.made_objects import shared_library

GLIBC = "/lib/ld-linux-aarch64.so.1"
AARCH64 = 183
X86_64 = 62
LOAD = 1
DYNAMIC = 2
INTERP = 3
NEEDED = 1
STRTAB = 5
RUNPATH = 29


def elf(
    *needed: str | bytes,
    loader: str = "",
    machine: int = AARCH64,
    table: bool = True,
    run_path: str = "",
) -> bytes:
    """Return a little-endian 64-bit file with these libraries and this loader."""
    strings = b"\0"
    offsets = []
    for name in needed:
        offsets.append(len(strings))
        strings += (name.encode() if isinstance(name, str) else name) + b"\0"
    run_path_at = len(strings)
    strings += run_path.encode() + b"\0"
    count = 3 if loader else 2
    begin = 64 + 56 * count
    interp = loader.encode() + b"\0"
    strings_at = begin + len(interp)
    dynamic_at = strings_at + len(strings)
    entries = [(NEEDED, offset) for offset in offsets]
    entries += [(RUNPATH, run_path_at)] if run_path else []
    # Addresses are not offsets: the table must be looked for through the loaded segment.
    entries += [(STRTAB, 0x10000 + strings_at)] if table else []
    dynamic = b"".join(struct.pack("<QQ", *entry) for entry in (*entries, (0, 0)))
    total = dynamic_at + len(dynamic)
    header = struct.pack(
        "<16sHHIQQQIHHHHHH",
        b"\x7fELF\x02\x01\x01".ljust(16, b"\0"),
        3,
        machine,
        1,
        0,
        64,
        0,
        0,
        64,
        56,
        count,
        64,
        0,
        0,
    )
    segments = [(LOAD, 0, 0x10000, total), (DYNAMIC, dynamic_at, dynamic_at, len(dynamic))]
    segments += [(INTERP, begin, begin, len(interp))] if loader else []
    packed = b"".join(
        struct.pack("<IIQQQQQQ", kind, 4, offset, address, address, size, size, 8)
        for kind, offset, address, size in segments
    )
    return header + packed + interp + strings + dynamic


def make(folder: Path, files: dict[str, bytes]) -> Path:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return folder


@pytest.mark.parametrize(
    ("run_path", "found"),
    [
        ("", ()),
        ("$ORIGIN:/nowhere", ()),
        ("{tree}/build", ("libown.so",)),
        (f"/{'long/' * 200}:{{tree}}/other:{{tree}}/build:", ("libown.so",)),
        ("{tree}-2/build", ()),
    ],
)
def test_libraries_that_a_program_finds_where_it_was_built(
    tmp_path: Path, run_path: str, found: tuple[str, ...]
) -> None:
    tree = tmp_path / "work"
    asked = elf("libown.so", "libc.so.6", run_path=run_path.format(tree=tree))
    make(tmp_path, {"program": asked, "work/build/libown.so": b"", "work-2/build/libc.so.6": b""})

    assert list_found_in(tmp_path / "program", tree) == found


@pytest.mark.parametrize(
    ("needed", "run_path"),
    [
        ("{tree}/build/libown.so", "{tree}/build"),
        ("build/libown.so", "{tree}/build"),
        ("libown.so", f"{{tree}}/{'long' * 100}"),
    ],
)
def test_what_no_loader_of_a_device_takes_is_not_found(
    tmp_path: Path, needed: str, run_path: str
) -> None:
    """A library that is linked without a name of its own is needed by its path."""
    tree = tmp_path / "work"
    asked = elf(needed.format(tree=tree), run_path=run_path.format(tree=tree))
    make(tmp_path, {"program": asked, "work/build/libown.so": b""})

    assert list_found_in(tmp_path / "program", tree) == ()


@pytest.fixture
def sysroot(tmp_path: Path) -> Path:
    """A small system with glibc: what is needed is in different folders."""
    files = {
        "lib/ld-linux-aarch64.so.1": elf(),
        "usr/lib/aarch64-linux-gnu/libstdc++.so.6": elf("libm.so.6", "libc.so.6"),
        "lib/aarch64-linux-gnu/libm.so.6": elf("libc.so.6"),
        "usr/lib/libc.so.6": elf("ld-linux-aarch64.so.1"),
    }
    return make(tmp_path / "sysroot", files)


def program(tmp_path: Path, data: bytes) -> Path:
    return make(tmp_path, {"program": data}) / "program"


def names(needs: Needs) -> list[str]:
    return [name for name, _ in needs.files]


def test_a_program_with_libraries(tmp_path: Path, sysroot: Path) -> None:
    path = program(tmp_path, elf("libstdc++.so.6", "libm.so.6", loader=GLIBC))

    assert read_loader(path) == GLIBC
    needs = read_needs(path, sysroot)
    assert needs == Needs(
        loader=GLIBC,
        files=(
            ("ld-linux-aarch64.so.1", sysroot / "lib/ld-linux-aarch64.so.1"),
            ("libc.so.6", sysroot / "usr/lib/libc.so.6"),
            ("libm.so.6", sysroot / "lib/aarch64-linux-gnu/libm.so.6"),
            ("libstdc++.so.6", sysroot / "usr/lib/aarch64-linux-gnu/libstdc++.so.6"),
        ),
    )
    assert needs.loader_name == "ld-linux-aarch64.so.1"
    assert not needs.of_android


@pytest.mark.parametrize("data", [elf(), elf("libc.so.6"), b"#!/bin/sh\n", b"", b"\x7fEL"])
def test_what_needs_no_loader(tmp_path: Path, data: bytes) -> None:
    path = program(tmp_path, data)

    assert read_loader(path) == ""
    assert read_needs(path, None) == Needs(loader="", files=())


def test_a_library_that_is_missing_is_named(tmp_path: Path, sysroot: Path) -> None:
    make(sysroot, {"lib/liba.so": elf("libb.so.2")})

    for needed, named in (("libz.so.1", "libz.so.1"), ("liba.so", "libb.so.2 (through liba.so)")):
        with pytest.raises(InputError) as refused:
            read_needs(program(tmp_path, elf(needed, loader=GLIBC)), sysroot)
        expected = f"program needs {named}, which is not in the sysroot {sysroot}"
        assert refused.value.message == expected
        assert "sysroot" in refused.value.hint


@pytest.mark.parametrize("needed", [(), ("libc.so.6",)])
def test_no_sysroot_and_no_loader(tmp_path: Path, sysroot: Path, needed: tuple[str, ...]) -> None:
    path = program(tmp_path, elf(*needed, loader=GLIBC))
    said = rf"^program needs the loader {GLIBC}, which the device does not have(\n|$)"
    with pytest.raises(InputError, match=said):
        read_needs(path, None)
    (sysroot / "lib/ld-linux-aarch64.so.1").unlink()
    with pytest.raises(InputError, match=r"program needs ld-linux-aarch64.so.1, which is not in"):
        read_needs(path, sysroot)


def test_what_lies_next_to_the_program_is_not_brought_again(tmp_path: Path, sysroot: Path) -> None:
    """A library of the project's own comes first; what it needs counts all the same.

    So it does if the program loads it while it runs.
    """
    own = make(tmp_path, {"own.so": elf("libm.so.6")}) / "own.so"
    for needed in (("libown.so", "libc.so.6"), ("libc.so.6",)):
        path = program(tmp_path, elf(*needed, loader=GLIBC))

        needs = read_needs(path, sysroot, {"libown.so": own, "model.mge": path})

        assert names(needs) == ["ld-linux-aarch64.so.1", "libc.so.6", "libm.so.6"]


def test_a_library_of_another_machine_is_passed_over(tmp_path: Path, sysroot: Path) -> None:
    make(sysroot, {"lib/libq.so": elf(machine=X86_64), "lib64/libq.so": b"GROUP ( x )"})
    path = program(tmp_path, elf("libq.so", loader=GLIBC))

    with pytest.raises(InputError, match=r"program needs libq\.so, which is not"):
        read_needs(path, sysroot)
    make(sysroot, {"usr/lib64/libq.so": elf()})
    assert dict(read_needs(path, sysroot).files)["libq.so"] == sysroot / "usr/lib64/libq.so"


def test_links_stay_within_the_sysroot(tmp_path: Path, sysroot: Path) -> None:
    """They are absolute as the device sees them: ``/lib`` is the sysroot's, not this machine's."""
    make(sysroot, {"usr/lib/libreal.so.1": elf()})
    make(tmp_path, {"libout.so": elf()})
    for name, target in {
        "liba.so": "/usr/lib/libreal.so.1",
        "libb.so": "../../../../usr/lib/libreal.so.1",
        "libc.so": f"../../{'../' * 20}{tmp_path.relative_to('/')}/libout.so",
        "libd.so": "libd.so",
        "libe.so": "/usr/lib/none",
    }.items():
        (sysroot / "lib" / name).symlink_to(target)
    (sysroot / "lib64").symlink_to("/usr/lib")
    real = sysroot / "usr/lib/libreal.so.1"

    def found(name: str) -> Path:
        needs = read_needs(program(tmp_path, elf(name, loader=GLIBC)), sysroot)
        return dict(needs.files)[name]

    assert found("liba.so") == found("libb.so") == found("libreal.so.1") == real
    for name in ("libc.so", "libd.so", "libe.so"):
        with pytest.raises(InputError, match=f"needs {name}, which is not in the sysroot"):
            found(name)


def test_musl_is_loader_and_library_in_one(tmp_path: Path) -> None:
    """Its C library goes by names that no file needs to have."""
    sysroot = make(tmp_path / "musl", {"lib/ld-musl-aarch64.so.1": elf()})
    path = program(
        tmp_path, elf("libc.so", "libc.musl-aarch64.so.1", loader="/lib/ld-musl-aarch64.so.1")
    )

    assert names(read_needs(path, sysroot)) == ["ld-musl-aarch64.so.1"]


def test_a_phone_has_its_own_loader_and_system(tmp_path: Path) -> None:
    sysroot = make(
        tmp_path / "ndk",
        {
            "usr/lib/aarch64-linux-android/libc++_shared.so": elf("libc.so"),
            "usr/lib/aarch64-linux-android/21/libc.so": elf(),
        },
    )
    path = program(tmp_path, elf("libc++_shared.so", "liblog.so", loader="/system/bin/linker64"))

    needs = read_needs(path, sysroot)
    assert needs.of_android
    assert names(needs) == ["libc++_shared.so"]
    assert read_needs(path, None) == Needs(loader="/system/bin/linker64", files=())


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (elf(b"../../etc/x.so", loader=GLIBC), "a library named '../../etc/x.so'"),
        (elf(b"-rf", loader=GLIBC), "a library named '-rf'"),
        (elf(b"..", loader=GLIBC), "a library named '..'"),
        (elf(b"", loader=GLIBC), "a library named ''"),
        (elf(b"a\nb", loader=GLIBC), r"a library named 'a\nb'"),
        (elf(b"\xff", loader=GLIBC), r"a library named '\\xff'"),
        (elf(b"x" * 300, loader=GLIBC), "longer than 255 bytes"),
        (elf(loader="ld.so"), "the loader 'ld.so'"),
        (elf(loader="/lib/../x y"), "the loader '/lib/../x y'"),
        (elf("libc.so.6", loader=GLIBC, table=False), "no table of their names"),
    ],
)
def test_hostile_names_are_refused(tmp_path: Path, data: bytes, why: str) -> None:
    """Nothing that a program says becomes a path or an option."""
    with pytest.raises(InputError) as refused:
        read_needs(program(tmp_path, data), tmp_path)

    assert refused.value.message.startswith(f"{tmp_path}/program: a damaged ELF file: ")
    assert why in refused.value.message


def test_a_program_without_end(tmp_path: Path, sysroot: Path) -> None:
    make(sysroot, {"lib/liba.so": elf("libb.so"), "lib/libb.so": elf("liba.so")})
    ring = read_needs(program(tmp_path, elf("liba.so", loader=GLIBC)), sysroot)
    assert names(ring) == ["ld-linux-aarch64.so.1", "liba.so", "libb.so"]

    many: Sequence[str] = [f"lib{number}.so" for number in range(300)]
    make(sysroot, {f"lib/{name}": elf() for name in many})
    with pytest.raises(InputError, match="more than 256 libraries"):
        read_needs(program(tmp_path, elf(*many, loader=GLIBC)), sysroot)


def test_a_program_that_cannot_be_read(tmp_path: Path) -> None:
    for path in (tmp_path / "none", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read_loader(path)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_damaged_files_are_refused_or_read(tmp_path: Path, data: st.DataObject) -> None:
    whole = bytearray(elf("libc.so.6", "libm.so.6", loader=GLIBC))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(4, len(whole) - 1))] = data.draw(st.integers(0, 255))
    path = program(tmp_path, bytes(whole[: data.draw(st.integers(4, len(whole)))]))

    try:
        loader = read_loader(path)
    except InputError as error:
        assert error.message.startswith(f"{path}: a damaged ELF file")
    else:
        assert loader == "" or loader.startswith("/")


@pytest.mark.parametrize(
    ("library", "shared", "exported"),
    [
        (shared_library("LITE_run", "_Znwm", "__cxa_throw"), False, ("_Znwm", "__cxa_throw")),
        (shared_library("LITE_run", symbols=("_Znwm",)), False, ()),
        (elf("libc.so", "libc++_shared.so"), True, ()),
    ],
    ids=["can be called", "hidden", "of the app"],
)
def test_a_runtime_of_its_own_may_be_called(
    library: bytes, shared: bool, exported: tuple[str, ...]
) -> None:
    expected = CxxRuntime(is_shared=shared, exported=exported)
    assert find_cxx_runtime(library, source="lib.so") == expected


@pytest.mark.parametrize("data", [b"the library\n", shared_library("f")[:-70]])
def test_what_is_no_library_is_an_error(data: bytes) -> None:
    with pytest.raises(InputError, match=r"lib\.so: a damaged ELF file"):
        find_cxx_runtime(data, source="lib.so")
