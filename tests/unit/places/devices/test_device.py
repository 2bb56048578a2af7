from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.config import device as settings
from megtrim.libs.programs.exit_status import ProgramRun
from megtrim.libs.util.errors import InfrastructureFailure, ProductFailure
from megtrim.libs.util.process import ProcessRunner
from megtrim.places.devices import kinds as device_kinds
from megtrim.places.devices import relocation_support
from megtrim.places.devices.device import (
    LARGEST_FETCHED_BYTES,
    Lease,
    NoUsableMachine,
    Timeouts,
    make_too_large_error,
)
from megtrim.places.devices.retry import (
    ProgramKilled,
    expect_not_killed,
    keep_first_failure,
    run_with_retries,
)
from support.haste import scale
from unit.core.trim.stages.fake_device import FakeDevice
from unit.places.devices.machines import make_spec, spec_of


def test_a_frozen_machine_is_noticed_within_half_a_minute() -> None:
    """A pause and a probe that does not answer, twice at worst: the pause is not waited again."""
    timeouts = Timeouts()

    assert timeouts.heartbeat_s + 2 * timeouts.probe_s <= 30
    assert timeouts.call_s <= 30


def test_a_transfer_is_waited_for_by_its_size_and_a_lost_link_for_half_a_minute() -> None:
    """Scaling leaves the speed of links alone."""
    scaled = scale(0.1)

    assert Timeouts().reconnect_s > 30
    assert Timeouts().transfer_s(40_000_000) == 70.0
    assert (scaled.call_s, scaled.boot_s, scaled.slowest_bytes_per_s) == (1.0, 18.0, 1_000_000)


def test_every_kind_that_can_be_configured_can_be_made() -> None:
    assert set(settings.KINDS) == {"auto", *device_kinds.KINDS}


@pytest.mark.parametrize("kind", ["adb", "ssh"])
def test_machines_that_others_use_are_pools(tmp_path: Path, kind: str) -> None:
    device = device_kinds.make(kind, make_spec(tmp_path), native="x86_64")

    assert (device.kind, device.name) == (kind, "phones")


def test_a_file_that_is_too_large_is_named_with_both_sizes() -> None:
    failure = make_too_large_error("dump/o", LARGEST_FETCHED_BYTES + 1)

    assert failure.message == (
        "the program left dump/o with 268,435,457 bytes, expected at most 268,435,456"
    )


class Pool(FakeDevice):
    """Gives out machines by turns; the first of them are dead."""

    def __init__(self, *, dead: int, retries: int) -> None:
        super().__init__(name="pool", retries=retries)
        self.left = [f"phone-{number}" for number in range(1, 9)]
        self.dead = dead

    @contextmanager
    def reserve(self) -> Iterator[FakeDevice]:
        name = self.left.pop(0)
        yield FakeDevice(name=name, interrupt=int(name[-1]) <= self.dead)


def work(lease: Lease) -> str:
    if getattr(lease, "interrupt", False):
        msg = "the link was lost"
        raise InfrastructureFailure(msg, hint="look at its cable")
    return lease.name


def test_work_is_delivered_by_the_first_machine_that_is_well() -> None:
    said: list[str] = []

    assert run_with_retries(Pool(dead=2, retries=2), work, say=said.append) == "phone-3"
    assert said == [
        "  again phone-1 failed (the link was lost); attempt 2",
        "  again phone-2 failed (the link was lost); attempt 3",
    ]


def test_the_last_failure_knows_all_attempts() -> None:
    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=9, retries=2), work, say=lambda _text: None)

    assert caught.value.attempts == tuple(f"phone-{n}: the link was lost" for n in (1, 2, 3))
    assert caught.value.message == "the link was lost (attempt 3 of 3)"
    assert caught.value.hint == "look at its cable"


def test_a_device_without_retries_is_tried_once() -> None:
    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=9, retries=0), work, say=lambda _text: None)

    assert caught.value.message == "the link was lost"
    assert caught.value.attempts == ("phone-1: the link was lost",)


def make_run(rc: int, **changes: Any) -> ProgramRun:
    values = {"stdout": "", "stderr": "", "wall_s": 0.1, "timed_out": False}
    return ProgramRun(argv=("load_and_run",), rc=rc, **{**values, **changes})


@pytest.mark.parametrize(
    ("rc", "name"), [(137, "9 (SIGKILL)"), (143, "15 (SIGTERM)"), (-9, "9 (SIGKILL)")]
)
def test_a_program_that_was_killed_says_nothing(rc: int, name: str) -> None:
    with pytest.raises(ProgramKilled) as caught:
        expect_not_killed("phone-1", make_run(rc))

    assert caught.value.message == (
        f"phone-1: load_and_run was ended by signal {name}, which megtrim did not send"
    )
    assert "a program that sends the signal to itself looks the same" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize(
    "run",
    [*(make_run(rc) for rc in (0, 1, 133, 134, 139)), make_run(137, timed_out=True)],
)
def test_any_other_end_is_the_programs_own(run: ProgramRun) -> None:
    expect_not_killed("phone-1", run)


@pytest.mark.parametrize(("retries", "attempts"), [(0, 2), (1, 2), (2, 3)])
def test_a_program_that_was_killed_is_tried_again_everywhere(retries: int, attempts: int) -> None:
    """This machine has no retries else: what killed it may be over by then."""

    def work(lease: Lease) -> str:
        expect_not_killed(lease.name, make_run(137))
        return lease.name

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Pool(dead=0, retries=retries), work, say=lambda _text: None)
    assert len(caught.value.attempts) == attempts


@pytest.mark.parametrize("ending", [ProductFailure("trap"), KeyboardInterrupt(), ValueError()])
def test_nothing_else_is_tried_again(ending: BaseException) -> None:
    tried: list[str] = []

    def fails(lease: Lease) -> str:
        tried.append(lease.name)
        raise ending

    with pytest.raises(type(ending)):
        run_with_retries(Pool(dead=0, retries=2), fails, say=lambda _text: None)
    assert tried == ["phone-1"]


def test_a_device_that_gives_out_nothing_is_tried_again_too() -> None:
    class Empty(FakeDevice):
        @contextmanager
        def reserve(self) -> Iterator[FakeDevice]:
            msg = "no phone is attached"
            raise InfrastructureFailure(msg)
            yield self

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Empty(name="pixels", retries=1), work, say=lambda _text: None)
    assert caught.value.attempts == ("pixels: no phone is attached",) * 2


def test_where_no_machine_is_left_nothing_is_tried_again() -> None:
    class Last(Pool):
        @contextmanager
        def reserve(self) -> Iterator[FakeDevice]:
            if self.left[0] != "phone-1":
                msg = "every phone is in quarantine"
                raise NoUsableMachine(msg)
            with super().reserve() as lease:
                yield lease

    with pytest.raises(InfrastructureFailure) as caught:
        run_with_retries(Last(dead=1, retries=5), work, say=lambda _text: None)
    assert caught.value.attempts == (
        "phone-1: the link was lost",
        "pool: every phone is in quarantine",
    )


@pytest.mark.parametrize(
    ("seen", "ended", "reported"),
    [
        ([], "good", "good"),
        ([], "bad", "bad"),
        (["trap"], "good", "trap"),
        (["trap"], "bad", "bad"),
    ],
)
def test_a_bad_end_is_not_hidden_by_a_good_one(seen: list[str], ended: str, reported: str) -> None:
    assert keep_first_failure(seen, lambda: ended, good=lambda end: end == "good") == reported


def test_a_bad_end_is_not_hidden_by_a_machine_that_fails() -> None:
    seen: list[str] = []

    def fails() -> str:
        msg = "the link was lost"
        raise InfrastructureFailure(msg)

    with pytest.raises(InfrastructureFailure, match="the link was lost"):
        keep_first_failure(seen, fails, good=lambda _end: True)
    seen += ["trap", "another"]
    assert keep_first_failure(seen, fails, good=lambda _end: True) == "trap"


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
        relocation_support.expect_loads("qemu", spec_of(processes, tmp_path, sysroot=root))

    assert (caught.value.exit_code, caught.value.message) == (2, SHOWN)
    assert caught.value.hint == ("set trim.relocations: none, or use a device with a newer glibc")


def test_what_may_load_them_is_not_refused(processes: ProcessRunner, tmp_path: Path) -> None:
    new = sysroot(tmp_path / "new", lib=NEW)
    both = sysroot(tmp_path / "both", lib=OLD, lib__aarch64_linux_gnu=NEW)
    none = sysroot(tmp_path / "none")
    old = sysroot(tmp_path / "old", lib=OLD)

    for root in (new, both, none, None):
        relocation_support.expect_loads("qemu", spec_of(processes, tmp_path, sysroot=root))
    relocation_support.expect_loads("ssh", spec_of(processes, tmp_path, sysroot=old))


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
            "local", spec_of(here, tmp_path, sysroot=sysroot(tmp_path / "s", lib=NEW))
        )


def test_a_loader_that_refuses_is_reported() -> None:
    with pytest.raises(relocation_support.UnsupportedRelocations) as caught:
        relocation_support.expect_loaded("board", make_run(1, stderr=REFUSED))

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
    relocation_support.expect_loaded("board", make_run(rc, stderr=stderr))
