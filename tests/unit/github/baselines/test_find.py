"""A baseline is what a run of this repository stored on the base branch, and says which."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from megtrim.build_spec import Origin
from megtrim.checks.check import DeviceIdentity
from megtrim.evidence.bundle import JobPurpose
from megtrim.evidence.evidence import VERSION, Evidence, EvidenceSet, dump_set
from megtrim.github.baselines.find import Base, BaselineSource, FoundBaseline, find
from megtrim.github.event import Event, PullRequest
from megtrim.size.baseline import dump_sizes
from support.github_double import GithubDouble
from support.github_state import Repository
from unit.github.support import Asking, asking

SIZES = {("load_and_run", "plain"): 1000, ("load_and_run", "reduced"): 100}
OTHER = {("load_and_run", "plain"): 2000, ("load_and_run", "reduced"): 200}
PROOFS = EvidenceSet(
    entries=(
        Evidence(
            config="megtrim.yaml",
            purpose=JobPurpose.VERIFY,
            cpu_class="any",
            device=DeviceIdentity(name="pixel-6", kind="adb", facts={}),
            day="2027-01-30",
            results=(),
        ),
    )
)
NOTHING = EvidenceSet(entries=())


def archive(
    sizes: Mapping[tuple[str, str], int] = SIZES,
    proofs: EvidenceSet = PROOFS,
    *,
    quick: bool = False,
) -> dict[str, bytes | str]:
    """Return what a run on the base branch stores."""
    return {"sizes.json": dump_sizes(sizes, quick=quick), "evidence.json": dump_set(proofs)}


@dataclass(slots=True)
class Team:
    """A repository with two commits on main and one on a branch from the first of them."""

    github: GithubDouble
    repository: Repository
    asking: Asking
    base: str
    later: str
    head: str
    event: Event

    def find(
        self,
        event: Event | None = None,
        *,
        config: str = "megtrim.yaml",
        quick: bool = False,
    ) -> FoundBaseline:
        """Look for the baseline of the pull request, or of another event."""
        return find(
            self.asking.api,
            event or self.event,
            config=config,
            artifact="megtrim-baseline",
            now_s=self.repository.now.timestamp(),
            quick=quick,
        )


@pytest.fixture
def team(github: GithubDouble) -> Team:
    repository = github.repository("acme/phone")
    repository.commit({"a": "0"}, branch="main")
    base = repository.commit({"a": "1"}, branch="main")
    later = repository.commit({"a": "2"}, branch="main")
    head = repository.commit({"b": "1"}, parents=[base], branch="feature")
    pull = PullRequest(
        number=7,
        head_sha=head,
        head_repository_id=11,
        base_sha=later,
        base_ref="main",
        base_repository_id=11,
    )
    event = Event(
        name="pull_request",
        repository="acme/phone",
        repository_id=repository.id,
        default_branch="main",
        sha=later,
        ref="refs/pull/7/merge",
        run_id=1,
        run_attempt=1,
        server_url="https://github.com",
        api_url=github.url,
        pull_request=pull,
    )
    return Team(github, repository, asking(github.url), base, later, head, event)


def test_what_the_merge_base_stored_is_the_baseline(team: Team) -> None:
    """Not what is newest on the branch: the change is measured against what it started from."""
    team.repository.artifact(team.repository.run(team.base), archive(), days_ago=2)
    team.repository.artifact(team.repository.run(team.later), archive(OTHER))

    found = team.find()
    assert found == FoundBaseline(
        how=BaselineSource.MERGE_BASE,
        source=f"main at {team.base[:12]}, the merge base, stored 2 days ago",
        base=Base(sha=team.base, branch="main", what="the merge base"),
        stored=found.stored,
        commit=team.base,
        evidence=PROOFS,
    )
    assert found.stored.sizes == SIZES
    assert team.find().rebuild == ""
    assert team.github.journal[0].query == {"per_page": "1"}
    assert [str(call) for call in team.github.journal[:7]] == [
        f"GET /repos/acme/phone/compare/{team.later}...{team.head}",
        "GET /repos/acme/phone/actions/artifacts",
        "GET /repos/acme/phone/actions/runs/1001",
        "GET /repos/acme/phone/git/ref/heads/main",
        f"GET /repos/acme/phone/compare/{team.base}...{team.later}",
        "GET /repos/acme/phone/actions/artifacts/1002/zip",
        "GET /storage/acme/phone/1002",
    ]


@pytest.mark.parametrize(
    ("days", "age"), [(0, "today"), (0.99, "today"), (1, "1 day ago"), (40.5, "40 days ago")]
)
def test_the_age_is_shown_in_days(team: Team, days: float, age: str) -> None:
    """A reader weighs an old baseline differently."""
    team.repository.artifact(team.repository.run(team.base), archive(), days_ago=days)

    assert team.find().source.endswith(f", stored {age}")


def test_of_two_stored_the_newer_counts(team: Team) -> None:
    """A run that is started again stores again."""
    run = team.repository.run(team.base)
    team.repository.artifact(run, archive(), days_ago=1)
    team.repository.artifact(run, archive(OTHER), days_ago=3)

    assert team.find().stored.sizes == SIZES


def test_without_one_of_the_merge_base_the_last_known_serves_and_it_is_rebuilt(team: Team) -> None:
    """The newest of the base branch, with its age, and the commit that should be built."""
    repository = team.repository
    first = repository.commits[team.base].parents[0]
    repository.artifact(repository.run(first), archive(OTHER), days_ago=30)
    repository.artifact(repository.run(team.later), archive(), days_ago=12)

    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (
        BaselineSource.LAST_KNOWN,
        SIZES,
        PROOFS,
    )
    assert found.rebuild == team.base
    assert found.source == (
        f"main at {team.later[:12]}, the last that is known, stored 12 days ago, "
        f"as the merge base {team.base[:12]} has stored none"
    )


def test_the_last_known_is_of_the_base_branch(team: Team) -> None:
    """What another branch weighs says nothing of this one, however new it is."""
    repository = team.repository
    repository.set_head("release/1.0", team.later)
    repository.artifact(repository.run(team.later), archive(), days_ago=12)
    repository.artifact(repository.run(team.later, branch="release/1.0"), archive(OTHER))

    found = team.find()

    assert (found.how, found.stored.sizes) == (BaselineSource.LAST_KNOWN, SIZES)


@pytest.mark.parametrize("quick", [True, False])
def test_sizes_of_the_other_way_are_passed_over(team: Team, quick: bool) -> None:
    """The merge base is then built again, in the requested mode."""
    team.repository.artifact(team.repository.run(team.base), archive(OTHER, quick=not quick))

    none = team.find(quick=quick)
    team.repository.artifact(team.repository.run(team.later), archive(quick=quick))
    known = team.find(quick=quick)

    way = "a full trim, expected those of a quick one"
    other = "a quick trim, expected those of a full one"
    said = f"sizes.json: found sizes of {way if quick else other}"
    assert (none.how, none.stored.sizes, none.rebuild) == (BaselineSource.NONE, {}, team.base)
    assert none.source == f"none: the baseline of {team.base[:12]}: {said}"
    assert (known.how, known.stored.sizes, known.rebuild) == (
        BaselineSource.LAST_KNOWN,
        SIZES,
        team.base,
    )
    assert known.warnings == (f"the baseline of {team.base[:12]}: {said}",)


@pytest.mark.parametrize("config", ["android/megtrim.yaml", "./linux/megtrim.yaml"])
def test_sizes_of_another_configuration_are_passed_over(team: Team, config: str) -> None:
    """However the path of the one that is asked for is written."""
    origin = Origin(config="linux/megtrim.yaml", commit=team.base)
    held = {"sizes.json": dump_sizes(SIZES, origin=origin), "evidence.json": dump_set(NOTHING)}
    team.repository.artifact(team.repository.run(team.base), held)
    found = team.find(config=config)

    if config == "./linux/megtrim.yaml":
        assert (found.how, found.stored.sizes) == (BaselineSource.MERGE_BASE, SIZES)
    else:
        assert "of the configuration linux/megtrim.yaml, expected android/" in found.source


def test_without_any_there_is_none(team: Team) -> None:
    """The first pull request of a team."""
    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (BaselineSource.NONE, {}, NOTHING)
    assert found.source == "none: no run on main has stored one yet"
    assert found.rebuild == team.base
    assert found.warnings == ()


def test_an_expired_artifact_is_as_good_as_none(team: Team) -> None:
    """GitHub still lists it, and gives it no more."""
    team.repository.artifact(team.repository.run(team.base), archive(), expired=True)

    assert team.find().how is BaselineSource.NONE
    assert team.github.calls("GET", "/zip") == []


def test_one_that_expires_between_list_and_download_is_none(team: Team) -> None:
    """Then the one before it is taken."""
    run = team.repository.run(team.base)
    team.repository.artifact(run, archive(OTHER), days_ago=1)
    newest = team.repository.artifact(run, archive())
    team.github.fail("GET", f"/{newest}/zip", status=410, message="Artifact has expired")

    found = team.find()

    assert (found.how, found.stored.sizes) == (BaselineSource.MERGE_BASE, OTHER)
    assert len(found.warnings) == 1
    assert "GitHub answered 410 (Artifact has expired)" in found.warnings[0]


@pytest.mark.parametrize(
    "run",
    [
        {"fork": True},
        {"fork": True, "event": "pull_request"},
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"event": "workflow_run"},
        {"branch": "feature"},
    ],
)
def test_only_runs_of_the_base_branch_are_trusted(team: Team, run: dict[str, Any]) -> None:
    """What a fork or a pull request stored could say anything, whatever its branch is called."""
    team.repository.artifact(team.repository.run(team.base, **run), archive())

    assert team.find().how is BaselineSource.NONE
    assert team.github.calls("GET", "/zip") == []


def test_forks_cannot_crowd_out_the_baseline(team: Team) -> None:
    """However much they store, ours is looked into."""
    repository = team.repository
    repository.artifact(repository.run(team.base), archive(), days_ago=1)
    for _ in range(6):
        repository.artifact(repository.run(team.base, fork=True), archive(OTHER))

    found = team.find()

    assert (found.how, found.stored.sizes) == (BaselineSource.MERGE_BASE, SIZES)


@pytest.mark.parametrize(
    ("run", "claims"),
    [
        ({"fork": True}, {"head_repository_id": 1}),
        ({"event": "pull_request"}, {}),
        ({"branch": "other"}, {"head_branch": "main"}),
    ],
)
def test_the_run_itself_is_asked(team: Team, run: dict[str, Any], claims: dict[str, Any]) -> None:
    """What the list of artifacts says of a run is held against the run."""
    team.repository.artifact(team.repository.run(team.base, **run), archive(), **claims)

    assert team.find().how is BaselineSource.NONE
    assert len(team.github.calls("GET", "/actions/runs/")) == 1
    assert team.github.calls("GET", "/zip") == []


def test_a_commit_that_is_not_on_the_branch_is_not_trusted(team: Team) -> None:
    """A tag that is called like the branch: its run is listed as one of the branch."""
    team.repository.artifact(team.repository.run(team.head, branch="main"), archive())
    push = replace(team.event, pull_request=None, ref="refs/heads/main", before=team.base)

    assert team.find(push).how is BaselineSource.NONE
    assert team.github.calls("GET", "/zip") == []


def test_the_run_of_another_commit_does_not_count(team: Team) -> None:
    """An artifact that claims the merge base, of a run that was of another commit."""
    run = team.repository.run(team.later)
    team.repository.artifact(run, archive(), head_sha=team.base)

    assert team.find().how is BaselineSource.NONE


@pytest.mark.parametrize("event", ["schedule", "workflow_dispatch"])
def test_runs_by_hand_count_on_the_default_branch_alone(team: Team, event: str) -> None:
    """There only those can start them who may push to it."""
    repository = team.repository
    repository.artifact(repository.run(team.base, event=event), archive())
    assert team.find().how is BaselineSource.MERGE_BASE

    elsewhere = replace(team.event, default_branch="trunk")
    assert team.find(elsewhere).how is BaselineSource.NONE


def test_a_cancelled_run_that_stored_nothing_leaves_a_rebuild(team: Team) -> None:
    """Two pushes to main, the first one's run cancelled by the second's."""
    team.repository.run(team.base, conclusion="cancelled")

    assert (team.find().how, team.find().rebuild) == (BaselineSource.NONE, team.base)


def test_what_a_run_stored_before_it_was_cancelled_counts(team: Team) -> None:
    """An artifact is whole or not there."""
    run = team.repository.run(team.base, conclusion="cancelled")
    team.repository.artifact(run, archive())

    assert team.find().how is BaselineSource.MERGE_BASE


def test_other_names_are_other_baselines(team: Team) -> None:
    """A repository may have several configurations."""
    run = team.repository.run(team.base)
    team.repository.artifact(run, archive(), name="megtrim-baseline-ios")

    assert team.find().how is BaselineSource.NONE


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no zip", "its archive: not a whole zip"),
        (
            {"evidence.json": dump_set(PROOFS)},
            "sizes.json: cannot be read: No such file or directory",
        ),
        ({"sizes.json": "{}"}, "sizes.json:1: artifacts: found nothing, expected this key"),
    ],
)
def test_a_broken_artifact_is_as_good_as_none(
    team: Team, content: bytes | dict[str, bytes | str], said: str
) -> None:
    """It is said, and the search goes on."""
    run = team.repository.run(team.base)
    team.repository.artifact(run, content)

    found = team.find()

    assert found.how is BaselineSource.NONE
    assert found.source.startswith(f"none: the baseline of {team.base[:12]}: ")
    assert len(found.warnings) == 1
    assert said in found.warnings[0]
    team.repository.artifact(run, archive(), days_ago=1)
    assert team.find().how is BaselineSource.MERGE_BASE


def test_an_archive_of_another_digest_is_not_used(team: Team) -> None:
    """What came is not what was stored."""
    artifact = team.repository.artifact(team.repository.run(team.base), archive())
    team.repository.artifacts[artifact]["digest"] = "sha256:" + "0" * 64

    assert team.find().how is BaselineSource.NONE
    assert "its digest differs" in team.find().warnings[0]


def test_a_server_without_digests_is_believed(team: Team) -> None:
    """Older servers do not name one."""
    artifact = team.repository.artifact(team.repository.run(team.base), archive())
    del team.repository.artifacts[artifact]["digest"]

    assert team.find().how is BaselineSource.MERGE_BASE


@pytest.mark.parametrize(
    ("proofs", "reported"),
    [
        ({}, []),
        ({"evidence.json": "{}"}, ["found nothing, expected this key"]),
        ({"evidence.json": '{"version": 1, "entries": []}'}, [f"found 1, expected {VERSION}"]),
    ],
)
def test_sizes_without_usable_proofs_are_used(
    team: Team, proofs: dict[str, str], reported: list[str]
) -> None:
    """Devices then prove everything again; only what is broken, or older, is worth a warning."""
    files = {"sizes.json": dump_sizes(SIZES), **proofs}
    team.repository.artifact(team.repository.run(team.base), files)

    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (
        BaselineSource.MERGE_BASE,
        SIZES,
        NOTHING,
    )
    assert [warning.rpartition(": ")[2] for warning in found.warnings] == reported


def test_it_gives_up_after_five_broken_ones(team: Team) -> None:
    """A search is bounded, whatever is stored."""
    run = team.repository.run(team.base)
    for _ in range(7):
        team.repository.artifact(run, b"no zip")

    assert team.find().how is BaselineSource.NONE
    assert len(team.github.calls("GET", "/zip")) == 5


def test_hundreds_of_artifacts_are_paged_through(team: Team) -> None:
    """The merge base of an old pull request lies far down."""
    repository = team.repository
    repository.artifact(repository.run(team.base), archive(), days_ago=30)
    for _ in range(230):
        repository.artifact(repository.run(team.later), b"")

    assert team.find().how is BaselineSource.MERGE_BASE
    assert len(team.github.calls("GET", "/actions/artifacts$")) == 3


def test_misshapen_entries_are_passed_over(team: Team) -> None:
    """One strange entry of a list must not hide the others."""
    repository = team.repository
    run = repository.run(team.base)
    repository.artifact(run, archive(), days_ago=1)
    strange: tuple[dict[str, Any], ...] = (
        {"created_at": "yesterday"},
        {"created_at": None},
        {"id": "9"},
        {"workflow_run": None},
        {"workflow_run": {"repository_id": 1, "head_repository_id": 1, "id": 5}},
        {"expired": None},
    )
    for number, change in enumerate(strange):
        artifact = repository.artifact(run, b"")
        repository.artifacts[artifact] |= change
        repository.artifacts[artifact].setdefault("number", number)
    repository.artifact(run, b"", head_sha="main")

    found = team.find()

    assert (found.how, found.warnings) == (BaselineSource.MERGE_BASE, ())


@pytest.mark.parametrize(
    ("status", "said"),
    [(403, "GitHub answered 403"), (404, "GitHub answered 404"), (500, "GitHub answered 500")],
)
@pytest.mark.parametrize("route", ["/compare/", "/actions/artifacts$"])
def test_github_that_does_not_answer_is_no_baseline(
    team: Team, status: int, said: str, route: str
) -> None:
    """It is reported as that, and the merge base is rebuilt if it is known."""
    team.repository.artifact(team.repository.run(team.base), archive())
    team.github.fail("GET", route, status=status, times=9)

    found = team.find()

    assert (found.how, found.stored.sizes) == (BaselineSource.NONE, {})
    assert found.source.startswith("none: GitHub did not answer (GET /repos/acme/phone/")
    assert said in found.source
    assert found.rebuild == ("" if route == "/compare/" else team.base)
    assert len(found.warnings) == 1


def test_a_limit_is_waited_for(team: Team) -> None:
    """429 with a time, then an answer."""
    team.repository.artifact(team.repository.run(team.base), archive())
    team.github.fail("GET", "/compare/", status=429, headers={"Retry-After": "7"})
    team.github.fail("GET", "/storage/", status=503, times=2)

    assert team.find().how is BaselineSource.MERGE_BASE
    assert team.asking.pauses == [7.0, 1.0, 2.0]


def test_a_run_that_cannot_be_asked_is_not_trusted(team: Team) -> None:
    """No answer about a run is no reason to use what it stored."""
    team.repository.artifact(team.repository.run(team.base), archive())
    team.github.fail("GET", "/actions/runs/", status=404)

    found = team.find()

    assert found.how is BaselineSource.NONE
    assert "GitHub answered 404" in found.source


def test_the_text_is_one_line_that_a_baseline_can_hold(team: Team) -> None:
    """Also where GitHub's words are long and the branch has a name of two hundred letters."""
    branch = "b" * 200
    team.repository.set_head(branch, team.later)
    pull = replace(team.event.pull_request, base_ref=branch)  # type: ignore[type-var]
    event = replace(team.event, pull_request=pull)
    message = "::error::" + "word \n" * 500
    sources = [team.find(event).source]
    run = team.repository.run(team.later, branch=branch)
    artifact = team.repository.artifact(run, archive())
    sources.append(team.find(event).source)
    team.github.fail("GET", f"/{artifact}/zip", status=404, message=message)
    sources.append(team.find(event).source)
    team.github.fail("GET", "/compare/", status=404, message=message)
    sources.append(team.find(event).source)

    assert [source.split(":")[0].split(" ")[0] for source in sources] == [
        "none",
        "b" * 79 + "…",
        "none",
        "none",
    ]
    assert all(source.isprintable() and len(source) <= 400 for source in sources)
    assert not any("::" in source for source in sources)


def other(team: Team, name: str, **fields: Any) -> Event:
    """Return an event that is no pull request."""
    return replace(team.event, name=name, pull_request=None, sha=team.later, **fields)


def test_a_push_is_held_against_the_commit_before(team: Team) -> None:
    """Also where several commits came with it."""
    team.repository.artifact(team.repository.run(team.base), archive(), days_ago=1)
    event = other(team, "push", ref="refs/heads/main", before=team.base)

    found = team.find(event)

    assert found.how is BaselineSource.MERGE_BASE
    assert found.source == f"main at {team.base[:12]}, the commit before, stored 1 day ago"


def test_a_run_that_is_started_again_is_not_held_against_itself(team: Team) -> None:
    """What its first attempt stored is no last known baseline."""
    repository = team.repository
    first = repository.commits[team.base].parents[0]
    repository.artifact(repository.run(first), archive(OTHER), days_ago=3)
    repository.artifact(repository.run(team.later), archive())
    event = other(team, "push", ref="refs/heads/main", before=team.base)

    found = team.find(event)

    assert (found.how, found.stored.sizes) == (BaselineSource.LAST_KNOWN, OTHER)


def test_a_push_to_another_branch_looks_on_that_branch(team: Team) -> None:
    """A branch of releases has its own sizes."""
    team.repository.set_head("release/1.0", team.base)
    team.repository.artifact(team.repository.run(team.base), archive())
    team.repository.artifact(team.repository.run(team.base, branch="release/1.0"), archive(OTHER))
    event = other(team, "push", ref="refs/heads/release/1.0", before=team.base)

    assert team.find(event).stored.sizes == OTHER


def test_a_merge_queue_is_held_against_its_base(team: Team) -> None:
    """Its base is what main will be when those before it are merged."""
    team.repository.artifact(team.repository.run(team.base), archive())
    event = other(
        team, "merge_group", merge_group_base=team.base, merge_group_ref="main", ref="refs/heads/q"
    )

    found = team.find(event)

    assert found.source == f"main at {team.base[:12]}, the merge group's base, stored today"


def test_a_dispatch_on_a_branch_is_held_against_its_merge_base(team: Team) -> None:
    """The checks of a pull request that a job opened are started like this."""
    team.repository.artifact(team.repository.run(team.base), archive())
    event = replace(other(team, "workflow_dispatch", ref="refs/heads/feature"), sha=team.head)

    found = team.find(event)

    assert found.source == f"main at {team.base[:12]}, the merge base, stored today"


@pytest.mark.parametrize("default", ["main", ""])
def test_a_schedule_is_held_against_what_its_own_commit_stored(team: Team, default: str) -> None:
    """The default branch is asked for where the event does not name it."""
    team.repository.artifact(team.repository.run(team.later), archive())
    event = other(team, "schedule", ref="refs/heads/main", default_branch=default)

    found = team.find(event)

    assert found.source == f"main at {team.later[:12]}, this very commit, stored today"


def test_no_one_is_asked_to_rebuild_the_commit_itself(team: Team) -> None:
    """It would cost minutes to find a growth of nothing."""
    event = other(team, "schedule", ref="refs/heads/main")

    assert (team.find(event).how, team.find(event).rebuild) == (BaselineSource.NONE, "")


def test_a_merge_base_that_is_no_commit_is_no_answer(team: Team) -> None:
    """The commit goes into commands: its shape is checked."""
    event = other(team, "push", ref="refs/heads/main", before="$(reboot)")

    found = team.find(event)

    assert found.source == (
        "none: GitHub did not answer (sha: found '$(reboot)', expected a commit)"
    )
    assert found.rebuild == ""


def test_the_baseline_of_another_configuration_is_passed_over(team: Team) -> None:
    """If two share one artifact's name: the merge base is built instead."""
    team.repository.artifact(team.repository.run(team.base), archive())
    found = team.find(config="android/megtrim.yaml")

    assert (found.how, found.stored.sizes, found.rebuild) == (BaselineSource.NONE, {}, team.base)
    assert "its proof by pixel-6 is of the configuration megtrim.yaml" in found.source
