"""What device jobs brought: by purpose and scenario, and never two different ones of one."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from megtrim.checks.check import DeviceIdentity
from megtrim.checks.statuses import ScenarioStatus
from megtrim.config.config_id import DEFAULT_CONFIG
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.imported import ImportedEvidence, read_brought
from megtrim.util.errors import InputError
from unit.evidence.support import BINDING, SCENARIO, evidence, result, write_evidence, written

TRACE = b"midout_trace v1\n"
DIGEST = hashlib.sha256(TRACE).hexdigest()
CACHE = b"cache"
CACHE_DIGEST = hashlib.sha256(CACHE).hexdigest()


def traced(**changes: Any) -> str:
    """Return the document of a job that traced the scenario."""
    values = {"text": "traced: 3 regions", "trace": DIGEST, "cache": CACHE_DIGEST} | changes
    return written(evidence(result(**values), purpose=JobPurpose.TRACE))


def folder(path: Path, **changes: Any) -> Path:
    return write_evidence(path, traced(**changes), {DIGEST: TRACE, CACHE_DIGEST: CACHE})


def read_traces(folders: tuple[Path, ...]) -> Mapping[str, ImportedEvidence]:
    return read_brought(folders, config=DEFAULT_CONFIG)[JobPurpose.TRACE]


def test_a_trace_is_given_with_all_that_binds_it(tmp_path: Path) -> None:
    """And where its files are."""
    place = folder(tmp_path / "a")

    assert read_traces((tmp_path,)) == {
        SCENARIO: ImportedEvidence(
            scenario=SCENARIO,
            binding=BINDING,
            status=ScenarioStatus.PASS,
            text="traced: 3 regions",
            device=DeviceIdentity(name="pixel-6", kind="local", facts={"model": "Pixel 6"}),
            time_s=1.5,
            folder=place,
            trace_sha256=DIGEST,
            cache_sha256=CACHE_DIGEST,
        )
    }
    given = read_traces((place,))[SCENARIO]
    assert given.trace == place / "files" / DIGEST
    assert given.cache == place / "files" / CACHE_DIGEST
    assert given.load_trace() == TRACE
    assert given.load_cache() == CACHE


def test_a_scenario_without_a_trace_is_given_too(tmp_path: Path) -> None:
    """With the reason; it must not be traced on another machine instead."""
    status = ScenarioStatus.INFRASTRUCTURE
    folder(tmp_path / "a", status=status, trace=None, cache=None, text="no phone")

    given = read_traces((tmp_path,))[SCENARIO]
    assert (given.status, given.text) == (status, "no phone")
    assert (given.trace, given.cache) == (None, None)
    assert (given.load_trace(), given.load_cache()) == (None, None)


def test_scenarios_are_sorted(tmp_path: Path) -> None:
    """Whatever the folders are called."""
    folder(tmp_path / "a", scenario="z/s@any")
    folder(tmp_path / "b", scenario="b/s@any")

    assert list(read_traces((tmp_path,))) == ["b/s@any", "z/s@any"]


def test_the_same_twice_is_one(tmp_path: Path) -> None:
    """A job that ran again may leave its first artifact, too."""
    first = folder(tmp_path / "a")
    folder(tmp_path / "b", time_s=9.0)

    assert read_traces((tmp_path,))[SCENARIO].folder == first


@pytest.mark.parametrize(
    "change",
    [
        {"trace": "0" * 64},
        {"cache": None},
        {"binding": "0" * 64},
        {"status": ScenarioStatus.TRACE},
    ],
)
def test_two_different_traces_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    """Which one counted would be chance."""
    folder(tmp_path / "a")
    folder(tmp_path / "b", **change)

    with pytest.raises(InputError) as caught:
        read_traces((tmp_path,))
    assert caught.value.message == (
        f"{SCENARIO}: {tmp_path / 'a'} and {tmp_path / 'b'} bring different traces of it"
    )


def test_evidence_of_a_verification_is_no_trace(tmp_path: Path) -> None:
    """Its folder is named."""
    write_evidence(tmp_path / "a", written(evidence()))

    with pytest.raises(InputError) as caught:
        read_traces((tmp_path,))
    assert caught.value.message == (
        f"{tmp_path / 'a'}: found evidence of a verification, expected traces or functions"
    )


def test_a_folder_without_evidence_is_refused(tmp_path: Path) -> None:
    """Else the profile build would silently run here."""
    with pytest.raises(InputError) as caught:
        read_traces((tmp_path,))
    assert caught.value.message == (f"{tmp_path}: found no evidence.json there or one folder below")


def recorded(path: Path, data: bytes, **changes: Any) -> Path:
    """Write the folder of a job that recorded the scenario's functions."""
    digest = hashlib.sha256(data).hexdigest()
    values = {"text": "recorded: 3 functions", "functions": digest} | changes
    text = written(evidence(result(**values), purpose=JobPurpose.RECORD))
    return write_evidence(path, text, {digest: data})


def test_functions_are_kept_apart_from_traces(tmp_path: Path) -> None:
    """One scenario has both: they are of two rounds."""
    folder(tmp_path / "a")
    place = recorded(tmp_path / "b", b"a list")
    found = read_brought((tmp_path,), config=DEFAULT_CONFIG)
    given = found[JobPurpose.RECORD][SCENARIO]

    assert (list(found), list(found[JobPurpose.TRACE])) == (
        [JobPurpose.TRACE, JobPurpose.RECORD],
        [SCENARIO],
    )
    assert (given.folder, given.text, given.trace) == (place, "recorded: 3 functions", None)
    assert given.functions == place / "files" / hashlib.sha256(b"a list").hexdigest()
    assert given.load_functions() == b"a list"
    assert found[JobPurpose.TRACE][SCENARIO].load_functions() is None


def test_two_different_lists_are_refused(tmp_path: Path) -> None:
    """As two traces are; the same twice is one."""
    recorded(tmp_path / "a", b"a list")
    recorded(tmp_path / "b", b"a list", time_s=9.0)
    assert list(read_brought((tmp_path,), config=DEFAULT_CONFIG)[JobPurpose.RECORD]) == [SCENARIO]
    recorded(tmp_path / "c", b"another")

    with pytest.raises(InputError) as caught:
        read_brought((tmp_path,), config=DEFAULT_CONFIG)
    assert caught.value.message == (
        f"{SCENARIO}: {tmp_path / 'a'} and {tmp_path / 'c'} bring different lists of its functions"
    )


def test_a_list_that_is_too_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would be read whole."""
    recorded(tmp_path / "a", b"a list")
    monkeypatch.setattr("megtrim.evidence.imported.LARGEST_LIST", 5)
    every = read_brought((tmp_path,), config=DEFAULT_CONFIG)

    with pytest.raises(InputError, match="found more than 5 bytes"):
        every[JobPurpose.RECORD][SCENARIO].load_functions()


def test_a_trace_of_another_digest_is_refused(tmp_path: Path) -> None:
    """When it is used."""
    place = folder(tmp_path / "a")
    (place / "files" / DIGEST).write_bytes(b"other")

    with pytest.raises(InputError, match="its sha256 is"):
        read_traces((place,))[SCENARIO].load_trace()


def test_a_trace_that_is_too_large_is_refused(tmp_path: Path) -> None:
    """Four mebibytes hold any engine's regions."""
    data = b"x" * (4 * 1024 * 1024 + 1)
    digest = hashlib.sha256(data).hexdigest()
    place = folder(tmp_path / "a", trace=digest)
    (place / "files" / digest).write_bytes(data)
    given = read_traces((place,))[SCENARIO]

    with pytest.raises(InputError, match="found more than 4,194,304 bytes"):
        given.load_trace()
    cache = replace(given, cache_sha256=digest)
    assert cache.load_cache() == data


def test_traces_of_another_configuration_are_refused(tmp_path: Path) -> None:
    """Scenarios may be called the same."""
    folder(tmp_path / "a")

    with pytest.raises(InputError) as error:
        read_brought((tmp_path,), config="android/megtrim.yaml")
    assert error.value.message == (
        f"{tmp_path / 'a'}: the evidence by pixel-6 is of the configuration megtrim.yaml, "
        "expected one of android/megtrim.yaml"
    )
