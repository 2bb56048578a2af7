import json
from typing import Any

import pytest

from megtrim.cli.ci.github import baseline as github_baseline
from megtrim.evidence.evidence import EvidenceSet, load_proofs
from megtrim.size.baseline import dump_sizes, load_sizes
from megtrim.size.budgets import Baseline
from megtrim.size.byte_table import ByteTable
from megtrim.size.growth.inputs import InputPrint
from megtrim.util.errors import InfrastructureFailure, Interrupted, ProductFailure
from megtrim.util.strict_json import dump
from unit.cli.ci.github.job import Job
from unit.cli.support import Answer

SIZES = {("load_and_run", "plain"): 1000, ("load_and_run", "reduced"): 100}
REBUILT = {("load_and_run", "plain"): 1500, ("load_and_run", "reduced"): 150}
MADE_FROM = InputPrint(made_from={"source": "a", "flags": "b"}, sources="abcde")


def parts(size_bytes: int) -> dict[tuple[str, str], ByteTable]:
    table = ByteTable(least_bytes=64, components={"operators": {"f(…)": size_bytes}})
    return {("load_and_run", "reduced"): table}


MEASURED = Baseline(source="", sizes=REBUILT, parts=parts(150), made_from=MADE_FROM)
EMPTY = EvidenceSet(entries=())


def find(job: Job) -> Answer:
    return job("baseline", "find", "--out", "out")


def store(job: Job, *, sha: str = "") -> None:
    sizes = dump_sizes(Baseline(sizes=SIZES, parts=parts(100), made_from=MADE_FROM))
    files = {"sizes.json": sizes, "evidence.json": dump(EMPTY)}
    run = job.repository.run(sha or job.base)
    job.repository.artifact(run, files)


def source(job: Job) -> str:
    return load_sizes(job.baseline() / "sizes.json", shown="").source


def test_a_stored_baseline_is_written(job: Job) -> None:
    store(job)

    answer = find(job).expect(0)

    assert job.outputs() == {"how": "merge-base", "rebuild": ""}
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    assert (left.sizes, left.parts, left.made_from) == (SIZES, parts(100), MADE_FROM)
    assert source(job).startswith(f"main at {job.base[:12]}, the merge base, stored ")
    assert answer.out == f"baseline: {source(job)}\n"
    assert load_proofs(job.baseline() / "evidence.json") == EMPTY
    assert json.loads((job.baseline() / "wanted.json").read_text()) == {
        "version": 1,
        "sha": job.base,
        "branch": "main",
        "what": "the merge base",
    }


def test_no_baseline_is_written_too(job: Job) -> None:
    assert find(job).status == 0

    assert job.outputs() == {"how": "none", "rebuild": job.base}
    assert source(job) == "none: no run on main has stored one yet"
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == {}
    assert load_proofs(job.baseline() / "evidence.json") == EMPTY


def test_github_that_does_not_answer_blocks_nothing(job: Job) -> None:
    find(job)
    job.github.permissions["contents"] = "none"

    find(job).expect(
        0, "warning: no baseline: GET /repos/acme/phone/compare/", "permissions: contents: read"
    )

    assert job.outputs() == {"how": "none", "rebuild": ""}
    assert source(job).startswith("none: GitHub did not answer (")
    assert not (job.baseline() / "wanted.json").exists()


def test_outside_of_a_job_find_says_what_is_missing(job: Job) -> None:
    """A workflow that passes no token is wrong, and would find nothing for ever."""
    job.env.setenv("GITHUB_TOKEN", "")

    find(job).expect(2, "env GITHUB_TOKEN")


@pytest.mark.parametrize(
    ("way", "quick"), [(("--quick",), True), (("--committed",), False), ((), False)]
)
def test_a_baseline_is_rebuilt_in_the_way_that_was_looked_for(
    job: Job, way: tuple[str, ...], quick: bool
) -> None:
    asked: list[Any] = []

    def built(options: Any) -> Any:
        asked.append((options.quick, options.committed))
        return MEASURED

    job.env.setattr(github_baseline, "_measure_variants", built)
    job("baseline", "find", "--out", "out", *way)
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    rebuild(job)
    rebuilt = load_sizes(job.baseline() / "sizes.json", shown="")

    assert asked == [(quick, not quick)]
    assert (left.quick, rebuilt.quick, rebuilt.sizes) == (quick, quick, REBUILT)


def rebuild(job: Job) -> Answer:
    return job("baseline", "rebuild", "--config", "base/megtrim.yaml", "--out", "out")


def test_a_rebuilt_baseline_says_so(job: Job) -> None:
    store(job, sha=job.repository.commit({"b": "1"}, parents=[job.base], branch="main"))
    find(job)
    assert job.outputs() == {"how": "last-known", "rebuild": job.base}
    asked: list[Any] = []

    def built(options: Any) -> Any:
        asked.append((str(options.config), str(options.out)))
        return MEASURED

    job.env.setattr(github_baseline, "_measure_variants", built)

    assert rebuild(job).status == 0

    assert asked == [("base/megtrim.yaml", "out")]
    assert job.outputs() == {"how": "rebuilt"}
    assert source(job) == f"main at {job.base[:12]}, the merge base, rebuilt"
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    assert (left.sizes, left.parts, left.made_from) == (REBUILT, parts(150), MADE_FROM)


@pytest.mark.parametrize(
    "failure", [ProductFailure("it does not compile"), InfrastructureFailure("it does not compile")]
)
def test_where_the_rebuild_fails_the_last_known_stays(job: Job, failure: Exception) -> None:
    other = job.repository.commit({"b": "1"}, parents=[job.base], branch="main")
    store(job, sha=other)
    find(job)
    known = source(job)

    def fails(_options: Any) -> Any:
        raise failure

    job.env.setattr(github_baseline, "_measure_variants", fails)
    answer = rebuild(job).expect(0)

    assert job.outputs() == {"how": "last-known"}
    assert source(job) == f"{known}; the merge base cannot be rebuilt (it does not compile)"
    assert load_sizes(job.baseline() / "sizes.json", shown="").sizes == SIZES
    assert answer.err == (
        f"warning: main at {job.base[:12]} cannot be rebuilt: it does not compile\n"
    )


def test_a_merge_base_without_a_configuration_cannot_be_rebuilt(job: Job) -> None:
    """The first pull request of a team brings the configuration."""
    find(job)

    assert rebuild(job).status == 0

    assert job.outputs() == {"how": "none"}
    assert source(job).startswith(
        "none: no run on main has stored one yet; the merge base cannot be rebuilt ("
    )
    assert "base/megtrim.yaml" in source(job)


def test_ctrl_c_ends_a_rebuild(job: Job) -> None:
    find(job)

    answer_to_signal = "interrupted"

    def interrupted(_options: Any) -> Any:
        raise Interrupted(answer_to_signal)

    job.env.setattr(github_baseline, "_measure_variants", interrupted)

    assert rebuild(job).status == 130


@pytest.mark.parametrize("text", [None, "{}", '{"version": 1, "sha": "x"}'])
def test_rebuild_needs_what_find_left(job: Job, text: str | None) -> None:
    find(job)
    wanted = job.baseline() / "wanted.json"
    wanted.unlink()
    if text is not None:
        wanted.write_text(text)

    rebuild(job).expect(2, "run `megtrim ci github baseline find` first")
