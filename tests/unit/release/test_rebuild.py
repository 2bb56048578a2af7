"""A release is compared with what was built again: causes first, then the bytes of every file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from megtrim.chain.session import Session
from megtrim.checks.check import DeviceIdentity
from megtrim.evidence.evidence import parse_set
from megtrim.release.archive import write_folder
from megtrim.release.check import ReleaseCheck, check_release, clean_proofs
from megtrim.release.collect import collect_parts, collect_release, list_stage_keys
from megtrim.release.prove import compare_rebuild, is_traced, prove
from megtrim.verdict.model import Verdict
from unit.release.examples import proofs_of
from unit.release.made_sessions import BUILT, CONFIG, make_session
from unit.verdict.examples import passing

BINDING = "b" * 64
RUNNER = "devices: [{name: pixel-6, kind: local, class: any, runner: true}]\n"
VERDICT = replace(
    passing(),
    scenarios=tuple(replace(each, binding=BINDING) for each in passing().scenarios),
)
OTHER_ENGINE = replace(VERDICT.engine, digest="e" * 64, commit="")
OTHER_TOOLCHAIN = replace(VERDICT.toolchain, version="clang 15.0.0")
PHONE = DeviceIdentity(name="phone", kind="adb", facts={})


def release(session: Session, folder: Path, *, proven: bool = False) -> ReleaseCheck:
    """Write the release of a session, proven by devices elsewhere or not, and check it."""
    files = collect_release(session, megtrim="0.1.0")
    if proven:
        contents, payload = collect_parts(session, draft=True)
        proofs = clean_proofs(contents, parse_set(proofs_of(BINDING), source="p"))
        stages = list_stage_keys(session)
        files = prove(contents, payload, proofs, stages=stages, megtrim="0.1.0")
    write_folder(files, folder)
    found = check_release(folder)
    assert found.problems == ()
    return found


def compare(
    found: ReleaseCheck, session: Session, *, megtrim: str = "0.1.0", other: bool = False
) -> tuple[str, ...]:
    return compare_rebuild(found, session, megtrim=megtrim, by_other_device=other)


@pytest.mark.parametrize("proven", [False, True])
def test_equal_bytes_are_no_difference(proven: bool, tmp_path: Path) -> None:
    """Of all files, from the same causes, whoever proved it."""
    config = CONFIG + RUNNER * proven
    found = release(
        make_session(tmp_path / "a", VERDICT, config=config), tmp_path / "r", proven=proven
    )

    assert compare(found, make_session(tmp_path / "b", VERDICT, config=config)) == ()
    assert not is_traced(found)


def differ(verdict: Verdict = VERDICT, **changes: object) -> Callable[[Path], Session]:
    return lambda folder: make_session(folder, verdict, **changes)  # type: ignore[arg-type]


DIFFERENCES: dict[str, tuple[Callable[[Path], Session], tuple[str, ...]]] = {
    "program": (
        differ(bins=BUILT | {"bin/load_and_run": "other"}),
        ("bin/load_and_run has other bytes: its sha256 is ",),
    ),
    "less": (
        differ(bins={"bin/load_and_run": "reduced"}),
        ("lib/libengine.so was not built", "include/lite/network.h was not built"),
    ),
    "more": (
        differ(bins=BUILT | {"bin/tool": "tool"}),
        ("bin/tool was built, and is not in the release", "release.json has other bytes"),
    ),
    "engine": (
        differ(replace(VERDICT, engine=OTHER_ENGINE)),
        ("the engine is another: digest eeeeeeeeeeee here, c2f1e0b6a3d9 in the release",),
    ),
    "toolchain": (
        differ(replace(VERDICT, toolchain=OTHER_TOOLCHAIN)),
        ("the toolchain is another: clang-linux-arm64 clang 15.0.0 for aarch",),
    ),
    "configuration": (
        differ(config=f"{CONFIG}# more\n"),
        (
            "megtrim.yaml is not the configuration of the release",
            "share/configuration/megtrim.yaml has other bytes",
        ),
    ),
    "device": (
        differ(replace(VERDICT, devices=(*VERDICT.devices, PHONE))),
        ("release.json has other bytes", "SHA256SUMS has other bytes"),
    ),
}


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_is_named(name: str, tmp_path: Path) -> None:
    """By what it is, and in which files."""
    build, expected = DIFFERENCES[name]
    found = release(make_session(tmp_path / "a", VERDICT), tmp_path / "r")
    lines = "\n".join(compare(found, build(tmp_path / "b")))

    assert [each for each in expected if each not in lines] == []


def test_another_megtrim_is_named(tmp_path: Path) -> None:
    """The provenance says which one it was."""
    session = make_session(tmp_path / "a", VERDICT)
    found = release(session, tmp_path / "r")

    assert "megtrim is another: 9.9.9 here, 0.1.0 in the release" in compare(
        found, session, megtrim="9.9.9"
    )


def test_another_device_may_run_it(tmp_path: Path) -> None:
    """One that was asked for; all else is compared."""
    found = release(make_session(tmp_path / "a", VERDICT), tmp_path / "r")
    verdict = replace(
        VERDICT,
        devices=(PHONE,),
        scenarios=tuple(replace(each, device="phone") for each in VERDICT.scenarios),
    )
    session = make_session(tmp_path / "b", verdict)

    assert compare(found, session) != ()
    assert compare(found, session, other=True) == ()
