from pathlib import Path

import pytest

from megtrim.devices import DeviceSpec, relocation_support
from megtrim.load_and_run.exit_status import ProgramRun
from megtrim.util.process import ProcessRunner
from unit.devices.machines import spec_of

OLD = b"\x7fELF\0GLIBC_2.35\0"
NEW = OLD + b"GLIBC_2.36\0GLIBC_ABI_DT_RELR\0"
REFUSED = (
    "./load_and_run: /lib/aarch64-linux-gnu/libc.so.6: version `GLIBC_ABI_DT_RELR' not found "
    "(required by ./load_and_run)\n"
)
SHOWN = (
    "device board: its C library is older than glibc 2.36, and cannot load packed relocations "
    "(trim.relocations: relr)"
)


def make_spec(processes: ProcessRunner, folder: Path, sysroot: Path | None) -> DeviceSpec:
    return spec_of(processes, folder / "runs", sysroot=sysroot)


def sysroot(folder: Path, **libraries: bytes) -> Path:
    """Lay out C libraries by the folder that each is in; ``__`` stands for a slash."""
    for name, data in libraries.items():
        library = folder / name.replace("__", "/").replace("_", "-") / "libc.so.6"
        library.parent.mkdir(parents=True)
        library.write_bytes(data)
    return folder


@pytest.mark.parametrize("where", ["lib", "lib64", "lib__aarch64_linux_gnu", "usr__lib"])
def test_an_old_library_is_refused_before_anything_is_built(
    processes: ProcessRunner, tmp_path: Path, where: str
) -> None:
    root = sysroot(tmp_path, **{where: OLD})
    with pytest.raises(relocation_support.UnsupportedRelocations) as caught:
        relocation_support.expect_loads("qemu", make_spec(processes, tmp_path, root))

    assert (caught.value.exit_code, caught.value.message) == (2, SHOWN)
    assert caught.value.hint == ("set trim.relocations: none, or use a device with a newer glibc")


def test_what_may_load_them_is_not_refused(processes: ProcessRunner, tmp_path: Path) -> None:
    new = sysroot(tmp_path / "new", lib=NEW)
    both = sysroot(tmp_path / "both", lib=OLD, lib__aarch64_linux_gnu=NEW)
    none = sysroot(tmp_path / "none")
    old = sysroot(tmp_path / "old", lib=OLD)

    for root in (new, both, none, None):
        relocation_support.expect_loads("qemu", make_spec(processes, tmp_path, root))
    relocation_support.expect_loads("ssh", make_spec(processes, tmp_path, old))


def test_this_machine_has_its_own(tmp_path: Path) -> None:
    grep = tmp_path / "grep"
    grep.write_text(
        '#!/bin/sh\nfor path; do :; done\ncase "$*" in\n'
        '*" /lib/libc.so.6 "*) echo /lib/libc.so.6:0;;\nesac\n',
        encoding="utf-8",
    )
    grep.chmod(0o755)
    here = ProcessRunner({"PATH": str(tmp_path)})

    with pytest.raises(relocation_support.UnsupportedRelocations):
        relocation_support.expect_loads(
            "local", make_spec(here, tmp_path, sysroot(tmp_path / "s", lib=NEW))
        )


def run(rc: int, stderr: str) -> ProgramRun:
    return ProgramRun(argv=("x",), rc=rc, stdout="", stderr=stderr, wall_s=0.1, timed_out=False)


def test_a_loader_that_refuses_is_reported() -> None:
    with pytest.raises(relocation_support.UnsupportedRelocations) as caught:
        relocation_support.expect_loaded("board", run(1, REFUSED))

    assert caught.value.message == SHOWN


@pytest.mark.parametrize(
    ("rc", "stderr"),
    [
        (0, REFUSED),
        (133, REFUSED),
        (1, ""),
        (1, "x: version `GLIBC_2.38' not found (required by x)\n"),
    ],
)
def test_any_other_end_is_the_program_s(rc: int, stderr: str) -> None:
    relocation_support.expect_loaded("board", run(rc, stderr))
