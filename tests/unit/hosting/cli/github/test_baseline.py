"""What earlier runs stored: their artifacts, and the baseline of a size check."""

import json
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from megtrim.core.chain.result_store import code_digest
from megtrim.core.evidence.evidence import EvidenceSet, load_proofs
from megtrim.core.size.baseline import dump_sizes, load_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.core.size.byte_table import ByteTable
from megtrim.core.size.growth.causes import InputPrint
from megtrim.hosting.cli.github import baseline as github_baseline
from megtrim.hosting.cli.github.artifacts import LARGEST_BYTES, MOST_LOGS
from megtrim.hosting.cli.github.client import open_api, read_runs, read_verdict
from megtrim.hosting.github.api import Forbidden
from megtrim.libs.history.folder import append_to_folder
from megtrim.libs.util.errors import InfrastructureFailure, InputError, Interrupted, ProductFailure
from megtrim.libs.util.strict_json import dump
from megtrim.places.github_event import read_event
from support.history_entries import make_run
from unit.core.cli.support import Answer, Shell
from unit.hosting.cli.github.job import Job

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
    job.repository.artifact(job.repository.run(sha or job.base), files)


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


def measure(job: Job, ends: Baseline | BaseException = MEASURED) -> Mock:
    """Let a rebuild end so; the mock knows its options."""
    raised = isinstance(ends, BaseException)
    mock = Mock(side_effect=ends) if raised else Mock(return_value=ends)
    job.env.setattr(github_baseline, "_measure_variants", mock)
    return mock


@pytest.mark.parametrize(
    ("way", "quick"), [(("--quick",), True), (("--committed",), False), ((), False)]
)
def test_a_baseline_is_rebuilt_in_the_way_that_was_looked_for(
    job: Job, way: tuple[str, ...], quick: bool
) -> None:
    asked = measure(job)
    job("baseline", "find", "--out", "out", *way)
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    rebuild(job)
    rebuilt = load_sizes(job.baseline() / "sizes.json", shown="")

    (((options,), _),) = asked.call_args_list
    assert (options.quick, options.committed) == (quick, not quick)
    assert str(options.baseline) == "out/baseline/sizes.json"
    assert (left.quick, rebuilt.quick, rebuilt.sizes) == (quick, quick, REBUILT)


def rebuild(job: Job) -> Answer:
    return job("baseline", "rebuild", "--config", "base/megtrim.yaml", "--out", "out")


def test_a_rebuilt_baseline_says_so(job: Job) -> None:
    store(job, sha=job.repository.commit({"b": "1"}, parents=[job.base], branch="main"))
    find(job)
    assert job.outputs() == {"how": "last-known", "rebuild": job.base}
    asked = measure(job)
    assert rebuild(job).status == 0

    (((options,), _),) = asked.call_args_list
    assert (str(options.config), str(options.out)) == ("base/megtrim.yaml", "out")
    assert job.outputs() == {"how": "rebuilt"}
    assert source(job) == f"main at {job.base[:12]}, the merge base, rebuilt"
    left = load_sizes(job.baseline() / "sizes.json", shown="")
    assert (left.sizes, left.parts, left.made_from) == (REBUILT, parts(150), MADE_FROM)


@pytest.mark.parametrize(
    "failure", [ProductFailure("it does not compile"), InfrastructureFailure("it does not compile")]
)
def test_where_the_rebuild_fails_the_last_known_stays(job: Job, failure: Exception) -> None:
    store(job, sha=job.repository.commit({"b": "1"}, parents=[job.base], branch="main"))
    find(job)
    known = source(job)

    measure(job, failure)
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
    measure(job, Interrupted("interrupted"))
    assert rebuild(job).status == 130


@pytest.mark.parametrize("text", [None, "{}", '{"version": 1, "sha": "x"}'])
def test_rebuild_needs_what_find_left(job: Job, text: str | None) -> None:
    find(job)
    wanted = job.baseline() / "wanted.json"
    wanted.unlink()
    if text is not None:
        wanted.write_text(text)

    rebuild(job).expect(2, "run `megtrim ci github baseline find` first")


@pytest.mark.parametrize(
    ("config", "suffix", "infix", "said"),
    [
        ("megtrim.yaml", "", "-", "the default one"),
        ("android/megtrim.yaml", ".android", ".android.", "android"),
        ("megtrim.yaml#arm64", "._arm64", "._arm64.", "_arm64"),
    ],
)
def test_names_follow_the_path(job: Job, config: str, suffix: str, infix: str, said: str) -> None:
    job("names", "--config", f"./{config}").expect(0, out=f"configuration {config}: {said}\n")
    names = {"file": config.partition("#")[0], "suffix": suffix, "infix": infix, "release": ""}
    assert job.outputs() == {**names, "megtrim": code_digest()}


@pytest.mark.parametrize(
    ("config", "tag", "name"),
    [
        ("megtrim.yaml", "v1.2.3", "phone-v1.2.3.tar.gz"),
        ("android/megtrim.yaml", "android/v1 β", "phone.android-android-v1-.tar.gz"),
    ],
)
def test_a_release_is_named_after_its_tag(
    job: Job, monkeypatch: pytest.MonkeyPatch, config: str, tag: str, name: str
) -> None:
    monkeypatch.setenv("GITHUB_REF", f"refs/tags/{tag}")
    job("names", "--config", config)

    assert job.outputs()["release"] == name


@pytest.mark.parametrize("config", ["/srv/megtrim.yaml", "../megtrim.yaml"])
def test_a_path_outside_is_refused(job: Job, config: str) -> None:
    job("names", "--config", config).expect(
        2, f"--config: found {config}, expected a path from the top"
    )


def log(shell: Shell, folder: str, text: str) -> Path:
    path = shell.folder / "out" / folder / "build.log"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path


def kept(shell: Shell) -> dict[str, str]:
    shell("ci", "github", "logs", "--out", "out", "--to", "logs").expect(0, err="")
    return {path.name: path.read_text("utf-8") for path in sorted(Path("logs").glob("*"))}


def test_what_failed_is_kept(shell: Shell) -> None:
    log(shell, "build/abc", "error: here\n")
    (log(shell, "reduce/def", "fine\n").parent / "manifest.json").write_text("{}", encoding="utf-8")
    log(shell, "final", "not a build\n")

    assert kept(shell) == {"build-abc.log": "error: here\n"}


def test_where_nothing_failed_no_link_is_followed(shell: Shell) -> None:
    assert kept(shell) == {}
    shell.write("other", "geheim")
    (shell.folder / "out/build/abc").mkdir(parents=True)
    (shell.folder / "out/build/abc/build.log").symlink_to(shell.folder / "other")
    assert kept(shell) == {}


def test_the_end_of_a_long_log_is_kept(shell: Shell) -> None:
    log(shell, "build/abc", "x" * LARGEST_BYTES + "the failure")

    text = kept(shell)["build-abc.log"]

    assert text.startswith("... the beginning was left out: 11 bytes\nxxx")
    assert text.endswith("xxxthe failure")
    assert len(text) == LARGEST_BYTES + len("... the beginning was left out: 11 bytes\n")


def test_the_newest_are_kept(shell: Shell) -> None:
    for number in range(MOST_LOGS + 2):
        os.utime(log(shell, f"build/{number:02}", "x"), (1000 - number, 1000 - number))

    assert list(kept(shell)) == [f"build-{number:02}.log" for number in range(MOST_LOGS)]


def test_a_password_is_not_in_them(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = "http://cache.lan|bearer-token=geheim"
    monkeypatch.setenv("MEGTRIM_CACHE_REMOTE_SECRET", secret)
    log(shell, "build/abc", f"a {secret} b redis://ci:geheim@cache.lan:1 http://x/y@z\n")

    assert kept(shell) == {"build-abc.log": "a *** b redis://***@cache.lan:1 http://x/y@z\n"}


@pytest.mark.parametrize(
    ("found", "left"),
    [
        ("http://cache.lan|bearer-token=geheim|read-only=true", "|bearer-token=***|read-only=true"),
        ("http://cache.lan|header=X-Key=geheim end", "http://cache.lan|header=*** end"),
        ("redis://ci:ge@heim@cache.lan", "redis://***@cache.lan"),
        (f"redis://ci:{'geheim' * 300}@cache.lan", "redis://***@cache.lan"),
    ],
)
def test_a_password_that_no_one_shown(shell: Shell, found: str, left: str) -> None:
    """A job's step that copies logs has no password to look for."""
    log(shell, "build/abc", f"a {found}\n")

    text = kept(shell)["build-abc.log"]

    assert text.endswith(f"{left}\n")
    assert "heim" not in text


def test_a_password_is_not_cut_in_two(shell: Shell) -> None:
    """Its end, without its beginning, could not be distinguished from anything else."""
    secret = "redis://ci:geheim@cache.lan "
    log(shell, "build/abc", "x" * 100 + secret + "y" * (LARGEST_BYTES - len("heim@cache.lan ")))

    text = kept(shell)["build-abc.log"]

    assert "heim" not in text
    assert text.endswith("@cache.lan " + "y" * (LARGEST_BYTES - len("heim@cache.lan ")))


def test_the_api_is_asked_with_the_jobs_token(job: Job) -> None:
    event = read_event(os.environ)
    path = f"/repos/acme/phone/git/commits/{job.base}"
    assert open_api({"GITHUB_TOKEN": f" {job.github.token}\n"}, event).get(path)["sha"] == job.base
    with pytest.raises(Forbidden):
        open_api({"GITHUB_TOKEN": "other"}, event).get(path)


def test_a_first_night_has_no_history(tmp_path: Path) -> None:
    assert read_runs(tmp_path / "history") == ()
    append_to_folder(tmp_path / "history", [make_run(1), make_run(0)])
    assert read_runs(tmp_path / "history") == (make_run(0), make_run(1))


def test_a_report_must_have_a_verdict(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"verdict\.json"):
        read_verdict(tmp_path)


def compare(job: Job) -> Answer:
    return job("baseline", "compare", "--config", "project/megtrim.yaml", "--out", "out")


@pytest.mark.parametrize("others", [(), ("vgg/default@any",)])
def test_the_base_is_built_where_its_counts_are_of_other_conditions(
    job: Job, others: tuple[str, ...]
) -> None:
    store(job)
    find(job)
    job.env.setattr(github_baseline, "_list_others", Mock(return_value=others))

    answer = compare(job).expect(0)

    assert job.outputs()["rebuild"] == (job.base if others else "")
    said = "the baseline has other conditions: vgg/default@any\n"
    assert answer.out == (said if others else "")


def test_a_comparison_that_is_not_known_blocks_nothing(job: Job) -> None:
    store(job)
    find(job)

    compare(job).expect(0, "warning: whether counts can be compared is not known: ", "megtrim.yaml")

    assert job.outputs()["rebuild"] == ""
