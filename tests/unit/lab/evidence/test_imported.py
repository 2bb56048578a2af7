import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.checks.statuses import ScenarioStatus
from megtrim.core.config.config_id import DEFAULT_CONFIG
from megtrim.core.evidence.evidence import (
    ANOTHER,
    LARGEST_TRACE,
    DeviceResult,
    Evidence,
    JobPurpose,
    expect_fitting,
    find_brought,
    read_brought,
)
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from unit.lab.evidence.support import (
    BINDING,
    OTHER_BINDING,
    SCENARIO,
    brought,
    evidence,
    result,
    write_evidence,
    written,
)

TRACE = b"midout_trace v1\n"
DIGEST = hashlib.sha256(TRACE).hexdigest()
CACHE = b"cache"
CACHE_DIGEST = hashlib.sha256(CACHE).hexdigest()


def traced(**changes: Any) -> str:
    values = {"text": "traced: 3 regions", "trace": DIGEST, "cache": CACHE_DIGEST} | changes
    return written(evidence(result(**values), purpose=JobPurpose.TRACE))


def folder(path: Path, **changes: Any) -> Path:
    return write_evidence(path, traced(**changes), {DIGEST: TRACE, CACHE_DIGEST: CACHE})


def read_traces(folders: tuple[Path, ...]) -> Mapping[str, DeviceResult]:
    return read_brought(folders, config=DEFAULT_CONFIG)[JobPurpose.TRACE]


def test_a_trace_is_given_with_all_that_binds_it(tmp_path: Path) -> None:
    place = folder(tmp_path / "a")
    given = read_traces((place,))[SCENARIO]

    assert given.evidence == evidence(given.result, purpose=JobPurpose.TRACE)
    assert (given.result.binding, given.folder) == (BINDING, place)
    assert given.file(given.result.trace) == place / "files" / DIGEST
    assert given.load(given.result.trace, most=LARGEST_TRACE) == TRACE
    status = ScenarioStatus.INFRASTRUCTURE
    lost = folder(tmp_path / "b", status=status, trace=None, cache=None, text="no phone")
    none = read_traces((lost,))[SCENARIO]
    assert (none.result.status, none.result.text, none.result.trace) == (status, "no phone", None)


def test_scenarios_are_sorted_and_the_same_twice_is_one(tmp_path: Path) -> None:
    """A job that ran again may leave its first artifact, too."""
    first = folder(tmp_path / "a", scenario="z/s@any")
    folder(tmp_path / "b", scenario="z/s@any", time_s=9.0)
    folder(tmp_path / "c", scenario="b/s@any")
    traces = read_traces((tmp_path,))

    assert list(traces) == ["b/s@any", "z/s@any"]
    assert traces["z/s@any"].folder == first


@pytest.mark.parametrize(
    "change",
    [{"trace": "0" * 64}, {"cache": None}, {"binding": "0" * 64}, {"status": ScenarioStatus.TRACE}],
)
def test_two_different_traces_are_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    folder(tmp_path / "a")
    folder(tmp_path / "b", **change)

    with pytest.raises(InputError) as caught:
        read_traces((tmp_path,))
    assert caught.value.message == (
        f"{SCENARIO}: {tmp_path / 'a'} and {tmp_path / 'b'} bring different traces of it"
    )


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ((), ": found no evidence.json there or one folder below"),
        ((evidence(),), "/a: found evidence of a verification, expected traces or functions"),
    ],
    ids=["nothing", "a verification"],
)
def test_a_folder_without_traces_is_refused(
    tmp_path: Path, entries: tuple[Evidence, ...], said: str
) -> None:
    if entries:
        write_evidence(tmp_path / "a", written(*entries))

    with pytest.raises(InputError) as caught:
        read_traces((tmp_path,))
    assert caught.value.message == f"{tmp_path}{said}"


def recorded(path: Path, data: bytes, **changes: Any) -> Path:
    digest = hashlib.sha256(data).hexdigest()
    values = {"text": "recorded: 3 functions", "functions": digest} | changes
    text = written(evidence(result(**values), purpose=JobPurpose.RECORD))
    return write_evidence(path, text, {digest: data})


def test_functions_are_kept_apart_from_traces(tmp_path: Path) -> None:
    folder(tmp_path / "a")
    place = recorded(tmp_path / "b", b"a list")
    found = read_brought((tmp_path,), config=DEFAULT_CONFIG)
    given = found[JobPurpose.RECORD][SCENARIO]

    assert list(found) == [JobPurpose.TRACE, JobPurpose.RECORD]
    assert list(found[JobPurpose.TRACE]) == [SCENARIO]
    assert (given.folder, given.result.text) == (place, "recorded: 3 functions")
    assert given.result.functions == hashlib.sha256(b"a list").hexdigest()


def test_two_different_lists_are_refused(tmp_path: Path) -> None:
    recorded(tmp_path / "a", b"a list")
    recorded(tmp_path / "b", b"a list", time_s=9.0)
    assert list(read_brought((tmp_path,), config=DEFAULT_CONFIG)[JobPurpose.RECORD]) == [SCENARIO]
    recorded(tmp_path / "c", b"another")

    with pytest.raises(InputError) as caught:
        read_brought((tmp_path,), config=DEFAULT_CONFIG)
    assert caught.value.message == (
        f"{SCENARIO}: {tmp_path / 'a'} and {tmp_path / 'c'} bring different lists of its functions"
    )


def test_traces_of_another_configuration_are_refused(tmp_path: Path) -> None:
    folder(tmp_path / "a")

    with pytest.raises(InputError, match="by pixel-6 is of the configuration megtrim"):
        read_brought((tmp_path,), config="android/megtrim.yaml")


BOARD = DeviceIdentity(name="board", kind="ssh", facts={})


def test_a_scenario_has_its_own_or_none_has_any() -> None:
    given = brought(Path("evidence"), BOARD)

    assert find_brought(SCENARIO, {SCENARIO: given}, "trace") is given
    assert find_brought(SCENARIO, {}, "trace") is None
    with pytest.raises(InfrastructureFailure, match="no device job delivered a trace"):
        find_brought(SCENARIO, {"m/other@any": given}, "trace")


@pytest.mark.parametrize("status", list(ScenarioStatus))
def test_a_job_that_failed_fails_here_in_the_same_way(status: ScenarioStatus) -> None:
    given = brought(Path("evidence"), BOARD, status=status, text="no space left")
    unknown = (ScenarioStatus.INFRASTRUCTURE, ScenarioStatus.UNVERIFIED)
    kind = InfrastructureFailure if status in unknown else ProductFailure

    with pytest.raises(InputError, match="the trace in evidence is for another program") as caught:
        expect_fitting(given, OTHER_BINDING, "trace")
    assert caught.value.hint == ANOTHER
    if status is ScenarioStatus.PASS:
        expect_fitting(given, BINDING, "trace")
        return
    with pytest.raises(kind, match="board: no space left"):
        expect_fitting(given, BINDING, "trace")
