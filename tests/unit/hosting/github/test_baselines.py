import io
import stat
import struct
import time
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from megtrim.core.build_spec import Origin
from megtrim.core.checks.check import DeviceIdentity
from megtrim.core.evidence.evidence import VERSION, Evidence, EvidenceSet, JobPurpose
from megtrim.core.size.baseline import dump_sizes
from megtrim.core.size.budgets import Baseline
from megtrim.hosting.github.artifacts import read_archive as read_files
from megtrim.hosting.github.baselines import Base, BaselineSource, FoundBaseline, find
from megtrim.libs.util.errors import InputError
from megtrim.libs.util.strict_json import dump
from megtrim.places.github_event import Event, PullRequest
from support.github_double import GithubDouble
from support.github_state import Repository, zipped
from unit.hosting.github.support import Asking, asking, make_event

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
MERGE_BASE = BaselineSource.MERGE_BASE
LAST_KNOWN = BaselineSource.LAST_KNOWN
NONE = BaselineSource.NONE


def archive(
    sizes: Mapping[tuple[str, str], int] = SIZES,
    proofs: EvidenceSet = PROOFS,
    *,
    quick: bool = False,
) -> dict[str, bytes | str]:
    return {
        "sizes.json": dump_sizes(Baseline(sizes=sizes, quick=quick)),
        "evidence.json": dump(proofs),
    }


@dataclass(slots=True)
class Team:
    github: GithubDouble
    repository: Repository
    asking: Asking
    first: str
    base: str
    later: str
    head: str
    event: Event

    def store(
        self,
        content: bytes | Mapping[str, bytes | str] | None = None,
        *,
        of: str = "base",
        days_ago: float = 0,
        claims: Mapping[str, Any] | None = None,
        **run: Any,
    ) -> int:
        made = self.repository.run(getattr(self, of), **run)
        stored = archive() if content is None else content
        return self.repository.artifact(made, stored, days_ago=days_ago, **(claims or {}))

    def find(
        self, event: Event | None = None, *, config: str = "megtrim.yaml", quick: bool = False
    ) -> FoundBaseline:
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
    first = repository.commit({"a": "0"}, branch="main")
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
    event = make_event(
        github.url,
        name="pull_request",
        repository_id=repository.id,
        sha=later,
        ref="refs/pull/7/merge",
        pull_request=pull,
    )
    return Team(github, repository, asking(github.url), first, base, later, head, event)


def test_what_the_merge_base_stored_is_the_baseline(team: Team) -> None:
    team.store(days_ago=2)
    team.store(archive(OTHER), of="later")

    found = team.find()

    assert found == FoundBaseline(
        how=MERGE_BASE,
        source=f"main at {team.base[:12]}, the merge base, stored 2 days ago",
        base=Base(sha=team.base, branch="main", what="the merge base"),
        stored=found.stored,
        commit=team.base,
        evidence=PROOFS,
    )
    assert found.stored.sizes == SIZES
    assert found.rebuild == ""
    assert team.github.journal[0].query == {"per_page": "1"}
    assert [str(call) for call in team.github.journal] == [
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
    team.store(days_ago=days)

    assert team.find().source.endswith(f", stored {age}")


@pytest.mark.parametrize(
    ("stored", "how", "sizes"),
    [
        # A run that is started again stores again.
        ([{"days_ago": 1}, {"content": archive(OTHER), "days_ago": 3}], MERGE_BASE, SIZES),
        # What another branch weighs says nothing of this one, however new it is.
        (
            [
                {"of": "later", "days_ago": 12},
                {"of": "later", "content": archive(OTHER), "branch": "release/1.0"},
            ],
            LAST_KNOWN,
            SIZES,
        ),
        # However much forks store, ours is looked into.
        ([{"days_ago": 1}, *[{"content": archive(OTHER), "fork": True}] * 6], MERGE_BASE, SIZES),
        # An artifact is whole or not there.
        ([{"conclusion": "cancelled"}], MERGE_BASE, SIZES),
        # One that is broken is passed over.
        ([{"content": b"no zip"}, {"days_ago": 1}], MERGE_BASE, SIZES),
        ([{"event": "schedule"}], MERGE_BASE, SIZES),
        ([{"event": "workflow_dispatch"}], MERGE_BASE, SIZES),
        # Older servers name no digest.
        ([{"claims": {"digest": None}}], MERGE_BASE, SIZES),
    ],
)
def test_which_of_several_counts(
    team: Team, stored: list[dict[str, Any]], how: BaselineSource, sizes: Any
) -> None:
    team.repository.set_head("release/1.0", team.later)
    for each in stored:
        team.store(**each)

    found = team.find()

    assert (found.how, found.stored.sizes) == (how, sizes)


@pytest.mark.parametrize(
    "stored",
    [
        # What a fork or a pull request stored could say anything, whatever its branch is called.
        {"fork": True},
        {"fork": True, "event": "pull_request"},
        {"event": "pull_request"},
        {"event": "pull_request_target"},
        {"event": "workflow_run"},
        {"branch": "feature"},
        # What the list of artifacts says of a run is held against the run.
        {"fork": True, "claims": {"head_repository_id": 1}},
        {"branch": "other", "claims": {"head_branch": "main"}},
        # GitHub still lists it, and gives it no more.
        {"claims": {"expired": True}},
        {"claims": {"name": "megtrim-baseline-ios"}},
    ],
)
def test_what_does_not_count_is_not_opened(team: Team, stored: dict[str, Any]) -> None:
    team.store(**stored)

    assert (team.find().how, team.find().rebuild) == (NONE, team.base)
    assert team.github.calls("GET", "/zip") == []


def test_the_run_of_another_commit_does_not_count(team: Team) -> None:
    team.store(of="later", claims={"head_sha": team.base})

    assert team.find().how is NONE


def test_runs_by_hand_count_on_the_default_branch_alone(team: Team) -> None:
    """There only those can start them who may push to it."""
    for event in ("schedule", "workflow_dispatch"):
        team.store(event=event)

    assert team.find(replace(team.event, default_branch="trunk")).how is NONE


def test_a_commit_that_is_not_on_the_branch_is_not_trusted(team: Team) -> None:
    """A tag that is called like the branch: its run is listed as one of the branch."""
    team.store(of="head", branch="main")
    push = replace(team.event, pull_request=None, ref="refs/heads/main", before=team.base)

    assert team.find(push).how is NONE
    assert team.github.calls("GET", "/zip") == []


def test_without_one_of_the_merge_base_the_last_known_serves_and_it_is_rebuilt(team: Team) -> None:
    team.store(archive(OTHER), of="first", days_ago=30)
    team.store(of="later", days_ago=12)

    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (LAST_KNOWN, SIZES, PROOFS)
    assert found.rebuild == team.base
    assert found.source == (
        f"main at {team.later[:12]}, the last that is known, stored 12 days ago, "
        f"as the merge base {team.base[:12]} has stored none"
    )


def test_without_any_there_is_none(team: Team) -> None:
    team.repository.run(team.base, conclusion="cancelled")

    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (NONE, {}, NOTHING)
    assert found.source == "none: no run on main has stored one yet"
    assert (found.rebuild, found.warnings) == (team.base, ())


@pytest.mark.parametrize(
    ("content", "asked", "reason"),
    [
        *(
            (
                archive(OTHER, quick=not quick),
                {"quick": quick},
                f"sizes.json: found sizes of {words}",
            )
            for quick, words in (
                (True, "a full trim, expected those of a quick one"),
                (False, "a quick trim, expected those of a full one"),
            )
        ),
        (
            {
                "sizes.json": dump_sizes(
                    Baseline(sizes=SIZES, origin=Origin(config="linux/m.yaml", commit="1" * 40))
                )
            },
            {"config": "android/m.yaml"},
            "of the configuration linux/m.yaml, expected android/",
        ),
        (
            archive(),
            {"config": "android/megtrim.yaml"},
            "its proof by pixel-6 is of the configuration megtrim.yaml",
        ),
        (b"no zip", {}, "its archive: not a whole zip"),
        ({"evidence.json": dump(PROOFS)}, {}, "its archive has no sizes.json"),
        ({"sizes.json": "{}"}, {}, "sizes.json:1: artifacts: found nothing, expected this key"),
    ],
)
def test_one_that_cannot_be_used_is_as_good_as_none(
    team: Team, content: Any, asked: dict[str, Any], reason: str
) -> None:
    team.store(content)

    none = team.find(**asked)
    fitting = {"sizes.json": dump_sizes(Baseline(sizes=SIZES, quick=bool(asked.get("quick"))))}
    team.store(fitting, of="later")
    known = team.find(**asked)

    assert (none.how, none.stored.sizes, none.rebuild) == (NONE, {}, team.base)
    assert none.source.startswith(f"none: the baseline of {team.base[:12]}: ")
    assert reason in none.source
    assert (known.how, known.stored.sizes, known.rebuild) == (LAST_KNOWN, SIZES, team.base)
    assert len(known.warnings) == 1
    assert reason in known.warnings[0]


def test_a_configuration_may_be_written_in_several_ways(team: Team) -> None:
    origin = Origin(config="linux/megtrim.yaml", commit=team.base)
    team.store({"sizes.json": dump_sizes(Baseline(sizes=SIZES, origin=origin))})

    assert team.find(config="./linux/megtrim.yaml").stored.sizes == SIZES


def test_one_that_expires_between_list_and_download_is_none(team: Team) -> None:
    team.store(archive(OTHER), days_ago=1)
    newest = team.store()
    team.github.fail("GET", f"/{newest}/zip", status=410, message="Artifact has expired")

    found = team.find()

    assert (found.how, found.stored.sizes) == (MERGE_BASE, OTHER)
    assert len(found.warnings) == 1
    assert "GitHub answered 410 (Artifact has expired)" in found.warnings[0]


def test_an_archive_of_another_digest_is_not_used(team: Team) -> None:
    team.repository.artifacts[team.store()]["digest"] = "sha256:" + "0" * 64

    assert team.find().how is NONE
    assert "its digest differs" in team.find().warnings[0]


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
    files = {"sizes.json": dump_sizes(Baseline(sizes=SIZES)), **proofs}
    team.repository.artifact(team.repository.run(team.base), files)

    found = team.find()

    assert (found.how, found.stored.sizes, found.evidence) == (MERGE_BASE, SIZES, NOTHING)
    assert [warning.rpartition(": ")[2] for warning in found.warnings] == reported


def test_it_gives_up_after_five_broken_ones(team: Team) -> None:
    run = team.repository.run(team.base)
    for _ in range(7):
        team.repository.artifact(run, b"no zip")

    assert team.find().how is NONE
    assert len(team.github.calls("GET", "/zip")) == 5


def test_hundreds_of_artifacts_are_paged_through(team: Team) -> None:
    repository = team.repository
    repository.artifact(repository.run(team.base), archive(), days_ago=30)
    for _ in range(230):
        repository.artifact(repository.run(team.later), b"")

    assert team.find().how is MERGE_BASE
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

    assert (found.how, found.warnings) == (MERGE_BASE, ())


@pytest.mark.parametrize("status", [403, 404, 500])
@pytest.mark.parametrize("route", ["/compare/", "/actions/artifacts$"])
def test_github_that_does_not_answer_is_no_baseline(team: Team, status: int, route: str) -> None:
    team.store()
    team.github.fail("GET", route, status=status, times=9)

    found = team.find()

    assert (found.how, found.stored.sizes) == (NONE, {})
    assert found.source.startswith("none: GitHub did not answer (GET /repos/acme/phone/")
    assert f"GitHub answered {status}" in found.source
    assert found.rebuild == ("" if route == "/compare/" else team.base)
    assert len(found.warnings) == 1


def test_a_run_that_cannot_be_asked_is_not_trusted(team: Team) -> None:
    team.store()
    team.github.fail("GET", "/actions/runs/", status=404)

    found = team.find()

    assert found.how is NONE
    assert "GitHub answered 404" in found.source


def test_the_text_is_one_line_that_a_baseline_can_hold(team: Team) -> None:
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


@pytest.mark.parametrize(
    ("name", "fields", "source"),
    [
        # Also where several commits came with it.
        ("push", {"ref": "refs/heads/main", "before": "base"}, "main at {base}, the commit before"),
        (
            "push",
            {"ref": "refs/heads/release/1.0", "before": "base"},
            "release/1.0 at {base}, the commit before",
        ),
        # Its base is what main will be when those before it are merged.
        (
            "merge_group",
            {"merge_group_base": "base", "merge_group_ref": "main", "ref": "refs/heads/q"},
            "main at {base}, the merge group's base",
        ),
        # The checks of a pull request that a job opened are started like this.
        (
            "workflow_dispatch",
            {"ref": "refs/heads/feature", "sha": "head"},
            "main at {base}, the merge base",
        ),
        # The default branch is asked for where the event does not name it.
        *(
            (
                "schedule",
                {"ref": "refs/heads/main", "default_branch": default},
                "main at {later}, this very commit",
            )
            for default in ("main", "")
        ),
    ],
)
def test_other_events_are_held_against_other_commits(
    team: Team, name: str, fields: dict[str, str], source: str
) -> None:
    team.repository.set_head("release/1.0", team.base)
    for of in ("base", "later"):
        team.store(of=of)
    team.store(branch="release/1.0")
    commits = {"base": team.base, "head": team.head}
    named: dict[str, Any] = {key: commits.get(value, value) for key, value in fields.items()}
    named = {"sha": team.later} | named
    event = replace(team.event, name=name, pull_request=None, **named)

    found = team.find(event)

    text = source.format(base=team.base[:12], later=team.later[:12])
    assert found.source == f"{text}, stored today"


def on_main(team: Team, name: str, **fields: Any) -> Event:
    ref = "refs/heads/main"
    return replace(team.event, name=name, pull_request=None, sha=team.later, ref=ref, **fields)


def test_a_run_that_is_started_again_is_not_held_against_itself(team: Team) -> None:
    team.store(archive(OTHER), of="first", days_ago=3)
    team.store(of="later")

    found = team.find(on_main(team, "push", before=team.base))

    assert (found.how, found.stored.sizes) == (LAST_KNOWN, OTHER)


def test_no_one_is_asked_to_rebuild_the_commit_itself(team: Team) -> None:
    """It would cost minutes to find a growth of nothing."""
    found = team.find(on_main(team, "schedule"))

    assert (found.how, found.rebuild) == (NONE, "")


def test_a_merge_base_that_is_no_commit_is_no_answer(team: Team) -> None:
    found = team.find(on_main(team, "push", before="$(reboot)"))

    assert found.source == (
        "none: GitHub did not answer (sha: found '$(reboot)', expected a commit)"
    )
    assert found.rebuild == ""


def packed(
    *names: str, data: bytes = b"x", kind: int = 0, method: int = zipfile.ZIP_STORED
) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are there twice
        for name in names:
            info = zipfile.ZipInfo("placeholder")
            info.filename = info.orig_filename = name
            info.external_attr = kind << 16
            info.compress_type = method
            archive.writestr(info, data)
    return stream.getvalue()


def patched(data: bytes, local: int, central: int, kind: str, value: int) -> bytes:
    content = bytearray(data)
    for signature, offset in ((b"PK\x03\x04", local), (b"PK\x01\x02", central)):
        struct.pack_into(kind, content, content.index(signature) + offset, value)
    return bytes(content)


def read_archive(data: bytes) -> dict[str, bytes]:
    return read_files(data, ("sizes.json", "evidence.json"))


@pytest.mark.parametrize(
    "others",
    [
        "/etc/passwd",
        "C:evil",
        "../sizes.json",
        "a/../../evil",
        "a\\..\\evil",
        "./sizes.json",
        "a\nb",
        "sizes.json/",
        "Sizes.json",
        "evidence.json/a",
        "a" * 1000,
    ],
)
def test_only_the_files_of_a_baseline_are_taken_out(others: str) -> None:
    assert read_archive(packed("sizes.json", others)) == {"sizes.json": b"x"}
    assert read_archive(packed(others)) == {}
    both = {"sizes.json": b"{}", "evidence.json": b"[]"}
    assert read_archive(zipped(both)) == both


def test_a_link_is_the_text_that_it_holds() -> None:
    link = packed("sizes.json", data=b"/etc/passwd", kind=stat.S_IFLNK | 0o777)

    assert read_archive(link) == {"sizes.json": b"/etc/passwd"}


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "File is not a zip file"),
        (b"no zip", "File is not a zip file"),
        (packed("sizes.json")[:-30], "File is not a zip file"),
        (packed("sizes.json", data=b"0123").replace(b"0123", b"0124"), "Bad CRC-32"),
        (packed("sizes.json", "sizes.json"), "sizes.json occurs twice"),
        (packed("sizes.json", method=zipfile.ZIP_LZMA), "packed in a way that is not used here"),
        (packed("sizes.json", method=zipfile.ZIP_BZIP2), "packed in a way that is not used here"),
        (patched(packed("sizes.json"), 6, 8, "<H", 1), "is encrypted"),
        # A size that lies ends the reading.
        (patched(packed("sizes.json", data=b"0" * 1000), 22, 24, "<I", 10), ""),
        (b"PK\x01\x02" * 200_000 + zipped({}), "more than 1000 entries"),
    ],
)
def test_an_archive_is_read_whole_or_refused(data: bytes, problem: str) -> None:
    started = time.monotonic()

    with pytest.raises(InputError, match=rf"^its archive: not a whole zip: .*{problem}"):
        read_archive(data)
    assert time.monotonic() - started < 1


def test_a_file_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = zipped({"sizes.json": bytes(2_000_000), "evidence.json": b"{}"})
    monkeypatch.setattr("megtrim.hosting.github.artifacts._LARGEST_FILE_BYTES", 2_000_000)
    assert len(read_archive(bomb)["sizes.json"]) == 2_000_000
    monkeypatch.setattr("megtrim.hosting.github.artifacts._LARGEST_FILE_BYTES", 1_999_999)
    with pytest.raises(InputError, match=r"sizes\.json has more than 1999999 bytes"):
        read_archive(bomb)


@settings(max_examples=150)
@given(data=st.data())
def test_no_bytes_are_a_surprise(data: st.DataObject) -> None:
    whole = bytearray(zipped({"sizes.json": b"{}" * 20, "files/a": b"abc"}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        files = read_archive(bytes(whole))
    except InputError as error:
        assert error.message.startswith("its archive: ")
    else:
        assert files.keys() <= {"sizes.json", "evidence.json"}
