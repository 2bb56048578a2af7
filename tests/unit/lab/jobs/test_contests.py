from pathlib import Path
from typing import Any, cast

import pytest

from megtrim.core.build_spec import Variant
from megtrim.core.chain.graph import PLAIN, REDUCED
from megtrim.core.chain.session import Session
from megtrim.core.evidence.binding import binding
from megtrim.core.evidence.evidence import EvidenceSet, JobPurpose
from megtrim.core.timing.spec import PerformanceStatus
from megtrim.lab.evidence.bundle import BundleContest, read_bundle
from megtrim.lab.jobs.pack import describe_times, list_devices, list_required_tasks, pack, select
from megtrim.libs.util.errors import InfrastructureFailure, InputError, ProductFailure
from megtrim.times import stage as perf
from megtrim.times.plan import perf_tasks
from unit.core.trim.stages.built import PROGRAMS
from unit.core.trim.stages.fake_device import FakeDevice
from unit.core.trim.stages.support import changed
from unit.lab.jobs.timed import DIGEST, PERF, timed

NONE = EvidenceSet(entries=())
TRIMMING = PERF.replace("rounds: 12}", "rounds: 12}, trimming: true")
ANY = "m/s@any"
OTHER = "m/t@any"
BIG = "m/s@big"


def contests(session: Session) -> dict[str, BundleContest]:
    return {each.id: each for each in describe_times(session).contests}


def test_every_contest_is_in_the_bundle(tmp_path: Path) -> None:
    session = timed(tmp_path)
    described = describe_times(session)
    held = {each.id for each in described.contests if each.contest is not None}

    assert [each.id for each in described.contests] == [
        f"{ANY}#baseline",
        f"{ANY}#fast-run-cache",
        f"{BIG}#baseline",
        f"{BIG}#fast-run-cache",
        f"{OTHER}#baseline",
        f"{OTHER}#fast-run-cache",
    ]
    assert held == {
        f"{id_}#{name}" for id_ in (ANY, OTHER) for name in ("baseline", "fast-run-cache")
    }
    big = contests(session)[f"{BIG}#baseline"]
    assert (big.unheld, big.reason) == (
        PerformanceStatus.SKIPPED,
        "no device of class big is attached to a runner",
    )
    assert (described.engine, described.criterion.threshold, described.inconclusive) == (
        DIGEST,
        0.02,
        "fail",
    )


def test_a_contest_is_that_of_the_stage(tmp_path: Path) -> None:
    session = timed(tmp_path)
    found = contests(session)[f"{ANY}#fast-run-cache"]
    task = next(each for each in perf_tasks(session.config) if each.name == found.id)

    assert found.binding == binding(perf.named_inputs(task, session))
    assert [each.step.measured for each in found.held.reference.commands] == [True]
    assert [each.step.measured for each in found.held.rival.commands] == [False, True]  # type: ignore[union-attr]
    assert (found.held.budget.rounds, found.held.threads) == (12, 2)
    other = changed(session, devices={**session.services.devices, "any": FakeDevice("other")})
    cast("Any", other.services.devices["any"]).kind = "another"
    assert contests(other)[found.id].binding == found.binding


@pytest.mark.parametrize("change", ["program", "model", "flags", "threshold"])
def test_a_contest_is_bound_to_all_that_it_depends_on(tmp_path: Path, change: str) -> None:
    before = contests(timed(tmp_path / "a"))[f"{ANY}#fast-run-cache"]
    programs = {**PROGRAMS, PLAIN: "another"} if change == "program" else PROGRAMS
    config = {
        "flags": PERF.replace("threads: 2", "threads: 4"),
        "threshold": PERF.replace("2%", "3%"),
    }
    session = timed(tmp_path / "b", config.get(change, PERF), programs=programs)
    if change == "model":
        (tmp_path / "b/m.mge").write_bytes(b"other")

    assert contests(session)[before.id].binding != before.binding


def test_a_bundle_to_time(tmp_path: Path) -> None:
    session = timed(tmp_path)
    packed = pack(session, JobPurpose.TIME, NONE, tmp_path / "bundle")

    assert read_bundle(tmp_path / "bundle") == packed
    assert packed.times == describe_times(session)
    assert [*packed.programs] == ["plain"]
    assert [each.id for each in packed.scenarios] == [ANY, OTHER]
    assert (packed.keep_set, packed.proven) == (None, ())
    assert packed.devices == list_devices(session.request, JobPurpose.TIME)
    assert len(list((tmp_path / "bundle/files").iterdir())) == 3


def test_trimmed_programs_go_along_with_their_sizes(tmp_path: Path) -> None:
    session = timed(tmp_path, TRIMMING)
    packed = pack(session, JobPurpose.TIME, NONE, tmp_path / "bundle")
    (found,) = (each for each in packed.contests if each.id == f"{ANY}#trimming-reduced")

    assert [*packed.programs] == ["plain", "reduced"]
    assert (found.rival, found.artifact) == (Variant.REDUCED, "load_and_run")
    assert found.sizes == ((Variant.PLAIN, 900), (Variant.REDUCED, 900))
    assert set(list_required_tasks(session.config, JobPurpose.TIME)) == {PLAIN, REDUCED}
    assert list_required_tasks(timed(tmp_path / "b").request.config, JobPurpose.TIME) == (PLAIN,)


@pytest.mark.parametrize(
    ("failure", "status"),
    [
        (ProductFailure("it does not compile"), PerformanceStatus.FAILED),
        (InfrastructureFailure("the disk is full"), PerformanceStatus.INFRASTRUCTURE),
    ],
)
def test_a_program_that_is_missing_costs_its_own_rows(
    tmp_path: Path, failure: Any, status: PerformanceStatus
) -> None:
    session = timed(tmp_path, TRIMMING)
    del session.done[REDUCED]
    session.results.failed[REDUCED] = failure
    found = contests(session)
    lost = found[f"{ANY}#trimming-reduced"]

    assert (lost.unheld, lost.reason) == (status, failure.message)
    assert found[f"{ANY}#baseline"].contest is not None


def test_without_any_program_nothing_is_asked(tmp_path: Path) -> None:
    session = timed(tmp_path)
    del session.done[PLAIN]
    packed = pack(session, JobPurpose.TIME, NONE, tmp_path / "bundle")

    assert (packed.contests, packed.scenarios, packed.programs) == ((), (), {})
    assert packed.times is not None
    assert {each.reason for each in packed.times.contests} == {"a task before it did not succeed"}


def test_contests_are_what_jobs_share(tmp_path: Path) -> None:
    session = timed(tmp_path)
    selected = select(session, JobPurpose.TIME, NONE)

    assert [each.id for each, _ in selected.asked] == [ANY, ANY, OTHER, OTHER]
    held = describe_times(session).contests
    assert [bound for _, bound in selected.asked] == [e.binding for e in held if e.contest]
    assert selected.counts(runners=frozenset({"any"}), on_runners=True) == {"any": 4}
    assert selected.counts(runners=frozenset({"any"}), on_runners=False) == {}


def test_what_no_device_takes_is_refused_with_its_line(tmp_path: Path) -> None:
    config = PERF.replace("{name: t, ", '{name: t, args: ["--warmup-iter", "5000"], ').replace(
        "experiments: [fast-run-cache]", "experiments: [baseline], trimming: true"
    )
    with pytest.raises(InputError) as caught:
        pack(timed(tmp_path, config), JobPurpose.TIME, NONE, tmp_path / "bundle")

    assert caught.value.message.startswith(f"{tmp_path / 'megtrim.yaml'}:13: m/t@any#trimming-red")
    assert "warmups: found 5000, expected at most 1000" in caught.value.message
    assert not (tmp_path / "bundle").exists()
