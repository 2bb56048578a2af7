"""The driver and the stand-ins themselves, on workflows of a few lines."""

import json
import random
import re
import textwrap
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from act.driver.forge import BAIT, HOSTILE_TITLE
from act.driver.git import Remote
from act.driver.journal import Journal
from act.driver.runner import HOSTED, Act, Run, stand_ins

CHECKOUT = f"actions/checkout@{'1' * 40}"
UPLOAD = f"actions/upload-artifact@{'2' * 40}"
DOWNLOAD = f"actions/download-artifact@{'3' * 40}"
RESTORE = f"actions/cache/restore@{'4' * 40}"
SAVE = f"actions/cache/save@{'4' * 40}"
TOY = f"kit/toy/.github/workflows/called.yml@{'5' * 40}"

Step = dict[str, Any]
Jobs = dict[str, dict[str, Any]]


@pytest.fixture(scope="module")
def done(act: Act, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run of the jobs of all tests, which have no more to do with each other."""
    root = tmp_path_factory.mktemp("driver")
    jobs = make_failing_jobs() | make_artifact_jobs() | make_checkout_jobs(root)
    jobs |= make_cache_jobs() | make_hash_jobs()
    return run(act, root, jobs | {"careless": {"steps": [CARELESS]}})


def run(act: Act, root: Path, jobs: Jobs) -> Run:
    named = {key: {"name": key, "runs-on": HOSTED, **given} for key, given in jobs.items()}
    caller = {"name": "caller", "on": ["push"], "jobs": {"call": {"name": "call", "uses": TOY}}}
    called = {"name": "called", "on": {"workflow_call": {}}, "jobs": named}
    for name, content in (("caller", caller), ("called", called)):
        folder = root / name / ".github" / "workflows"
        folder.mkdir(parents=True)
        (folder / f"{name}.yml").write_text(yaml.safe_dump(content), encoding="utf-8")
    (root / "event.json").write_text(json.dumps({"title": HOSTILE_TITLE}), encoding="utf-8")
    return act.run(
        "push",
        folder=root / "caller",
        workflow="caller.yml",
        scratch=root,
        options=(
            f"--local-repository=kit/toy@{'5' * 40}={root / 'called'}",
            *stand_ins(root / "called"),
        ),
        env={
            "GITHUB_RUN_ID": "4711",
            "GITHUB_REPOSITORY": "stranger/app",
            "GITHUB_REF": "refs/heads/main",
            "SHA_REF": "6" * 40,
            "MEGTRIM_STAND_IN_REPOSITORIES": str(root / "remotes"),
            "MEGTRIM_STAND_IN_CACHE": str(root / "cache"),
        },
        token="secret-token",
        runners=(HOSTED,),
    )


def python(text: str) -> Step:
    return {"name": "Python", "shell": "python", "run": textwrap.dedent(text)}


def uses(action: str, **given: object) -> Step:
    return {"name": "Use", "uses": action, "continue-on-error": True, "with": given}


def make_failing_jobs() -> Jobs:
    say = python("""\
        import os
        print("::error file=a.yaml,line=3::too%0Alarge")
        print("::notice::read this")
        print("hello")
        open(os.environ["GITHUB_STEP_SUMMARY"], "a").write("# Verdict\\n")
        open(os.environ["GITHUB_OUTPUT"], "a").write("size=12\\n")
        """)
    first = [
        {**say, "name": "Say"},
        {**python("raise SystemExit(3)"), "name": "Gate"},
        python("pass"),
    ]
    second = {"needs": "first", "if": "${{ !cancelled() }}", "steps": [python("pass")]}
    return {"first": {"steps": first}, "second": second}


def test_what_a_job_left_is_reported(done: Run) -> None:
    passed = ("careless", "down", "hashed", "kit", "one", "second", "two", "up")
    ended = dict.fromkeys(passed, "success")
    assert done.rc == 1
    assert done.conclusions == {**ended, "first": "failure"}
    reported = done.jobs["first"]
    assert reported.steps == {"Say": "success", "Gate": "failure"}
    assert reported.outputs == {"size": "12"}
    assert reported.summary == "# Verdict\n"
    assert reported.annotations == [("error", "too\nlarge"), ("notice", "read this")]
    assert reported.lines == ["hello"]
    assert done.complaints == ("Error: Job 'first' failed",)


def test_a_job_that_no_runner_takes_is_seen(act: Act, tmp_path: Path) -> None:
    device = {
        "name": "device ${{ matrix.name }}",
        "runs-on": ["self-hosted", "megtrim"],
        "strategy": {"matrix": {"include": [{"name": "arm64 1/2"}, {"name": "arm64 2/2"}]}},
        "steps": [python("pass")],
    }
    offline = run(act, tmp_path / "offline", {"device": device})
    assert offline.rc == 0
    assert offline.conclusions == {"device arm64 1/2": "no runner", "device arm64 2/2": "no runner"}


CARELESS = {"name": "Say", "run": 'echo "${{ github.event.title }}"'}


@pytest.mark.usefixtures("done")
def test_the_bait_is_taken_by_a_workflow_that_trusts_a_title(act: Act) -> None:
    """Else the story, which holds no such workflow, would prove nothing."""
    bait = Path(act.home["HOME"], BAIT)
    assert bait.exists()
    bait.unlink()


def test_the_journal_reports_when_jobs_begin_and_end() -> None:
    """The caller's own job has no steps, and is not listed on GitHub either."""
    journal = Journal()
    said = [
        {"job": "caller/call", "msg": "matched"},
        {"job": "call/called/build", "msg": "Run", "step": "Set up job"},
        {"job": "call/called/build", "msg": "x", "raw_output": True},
        {"job": "call/called/build", "msg": "Job succeeded", "jobResult": "success"},
    ]
    assert [journal.read(json.dumps(each)) for each in said] == [False, True, False, True]
    assert list(journal.jobs) == ["build"]


def make_artifact_jobs() -> Jobs:
    make = python("""\
        import os, pathlib, random
        for name in ("out/a.txt", "out/sub/b.sh", "out/.hidden", "one.json"):
            path = pathlib.Path(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(name)
        os.chmod("out/sub/b.sh", 0o755)
        pathlib.Path("big").write_bytes(random.Random(1).randbytes(9_000_000))
        """)
    show = python("""\
        import pathlib
        for path in sorted(pathlib.Path("got").rglob("*")):
            if path.is_file():
                print(path, oct(path.stat().st_mode & 0o111))
        """)
    up = [
        make,
        uses(UPLOAD, name="part-1", path="out"),
        uses(UPLOAD, name="part-2", path="one.json"),
        uses(UPLOAD, name="part-2", path="out/a.txt"),
        uses(UPLOAD, name="two", path="out/a.txt\nout/absent.txt\n"),
        uses(UPLOAD, name="none", path="absent.txt"),
        uses(UPLOAD, **{"name": "none", "path": "absent.txt", "if-no-files-found": "error"}),
        uses(UPLOAD, name="a/b", path="out"),
        uses(UPLOAD, name="again", path="out/a.txt"),
        uses(UPLOAD, name="again", path="one.json", overwrite=True),
        uses(UPLOAD, name="whole", path="big"),
    ]
    down = [
        uses(DOWNLOAD, name="two", path="got/two"),
        uses(DOWNLOAD, pattern="part-*", path="got/apart"),
        uses(DOWNLOAD, **{"pattern": "part-*", "path": "got/merged", "merge-multiple": True}),
        uses(DOWNLOAD, pattern="nothing-*", path="got/nothing"),
        show,
        uses(DOWNLOAD, name="absent", path="got"),
    ]
    return {"up": {"steps": up}, "down": {"needs": "up", "steps": down}}


def test_artifacts_go_from_job_to_job(done: Run) -> None:
    """Roots, patterns, hidden files, modes and names that are taken are as with the actions.

    More than one block of what the real client sends comes back byte by byte.
    """
    assert done.jobs["up"].annotations == [
        ("error", "an artifact with the name part-2 already exists on the workflow run"),
        ("warning", "No files were found with the provided path: absent.txt"),
        ("error", "No files were found with the provided path: absent.txt"),
        ("error", "'a/b' cannot be the name of an artifact"),
    ]
    files = [line for line in done.jobs["down"].lines if line.startswith("got/")]
    assert files == [
        "got/apart/part-1/a.txt 0o0",
        "got/apart/part-1/sub/b.sh 0o0",
        "got/apart/part-2/one.json 0o0",
        "got/merged/a.txt 0o0",
        "got/merged/one.json 0o0",
        "got/merged/sub/b.sh 0o0",
        "got/two/a.txt 0o0",
    ]
    assert done.jobs["down"].annotations == [("error", "Artifact not found for name: absent")]
    assert sorted(done.artifacts) == ["again", "part-1", "part-2", "two", "whole"]
    assert content(done, "whole") == {"big": random.Random(1).randbytes(9_000_000)}
    assert content(done, "part-1") == {"a.txt": b"out/a.txt", "sub/b.sh": b"out/sub/b.sh"}
    assert content(done, "again") == {"one.json": b"one.json"}


def content(done: Run, artifact: str) -> dict[str, bytes]:
    with zipfile.ZipFile(done.artifacts[artifact]) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def make_checkout_jobs(root: Path) -> Jobs:
    remote = Remote(root / "remotes", "kit/toy", root / "work")
    first = remote.commit({"a.txt": "1"}, message="One", branch="main")
    remote.commit({"a.txt": "2"}, message="Two", branch="main")
    given = {"repository": "kit/toy", "path": "kit", "persist-credentials": False}
    show = python("print(open('kit/a.txt').read())")
    steps = [
        uses(CHECKOUT, **{**given, "ref": first}),
        show,
        uses(CHECKOUT, **given),
        show,
        uses(CHECKOUT, **{**given, "ref": first}),
        show,
        uses(CHECKOUT, **{**given, "ref": first, "persist-credentials": True}),
        uses(CHECKOUT, **{**given, "path": "../kit"}),
        uses(CHECKOUT, **{**given, "ref": "9" * 40}),
    ]
    return {"kit": {"steps": steps}}


def test_checkouts_are_of_one_commit(done: Run) -> None:
    """The second of a commit is linked to the first."""
    assert [line for line in done.jobs["kit"].lines if len(line) == 1] == ["1", "2", "1"]
    assert [text for _, text in done.jobs["kit"].annotations] == [
        "the kit never leaves a token in a checkout",
        "../kit is not below the workspace",
        f"kit/toy has no {'9' * 40}",
    ]


def make_cache_jobs() -> Jobs:
    write = """\
        import pathlib
        pathlib.Path("store").mkdir(exist_ok=True)
        pathlib.Path("store/n").write_text("{}")
        """
    save = uses(SAVE, path="store", key="k-1")
    restore = uses(RESTORE, **{"path": "store", "key": "k-2", "restore-keys": "j-\nk-\n"})
    show = python("print('store', open('store/n').read())")
    one = [python(write.format(1)), save, python(write.format(2)), save]
    two = {"needs": "one", "steps": [{**restore, "id": "r"}, show]}
    return {"one": {"steps": one}, "two": two}


def test_a_cache_is_found_by_the_beginning_of_its_key(done: Run) -> None:
    """A key that is taken is not written again; each job has a workspace of its own."""
    assert done.jobs["one"].lines == ["the key k-1 is taken"]
    assert done.jobs["two"].lines == ["store 1"]
    assert done.jobs["two"].outputs == {
        "cache-hit": "",
        "cache-matched-key": "k-1",
        "cache-primary-key": "k-2",
    }


def make_hash_jobs() -> Jobs:
    write = """\
        import pathlib
        pathlib.Path("store").mkdir(exist_ok=True)
        pathlib.Path("store/n").write_text("{}")
        """
    hashed = {"name": "Hash", "run": "echo '${{ hashFiles('store/**') }}'"}
    absent = {"name": "Hash", "run": "echo 'none ${{ hashFiles('absent') }}'"}
    file = {"name": "Hash", "run": "echo '${{ hashFiles('absent', 'store/n') }}'"}
    steps = [python(write.format(1)), hashed, file, python(write.format(2)), hashed, absent]
    return {"hashed": {"steps": steps}}


def test_files_are_hashed_without_node(done: Run) -> None:
    folder, file, changed, absent = done.jobs["hashed"].lines
    assert re.fullmatch("[0-9a-f]{64}", folder)
    assert file == folder != changed
    assert absent.strip() == "none"


def test_jobs_of_a_calling_matrix_are_kept_apart() -> None:
    journal = Journal()
    for caller in ("size app-1", "size android-2"):
        for name in ("build", "device desk 1/1"):
            job = f"{caller}/size check/{name}"
            journal.read(json.dumps({"job": job, "msg": "", "jobResult": "success"}))

    assert {key: job.caller for key, job in journal.jobs.items()} == {
        "size app / build": "size app",
        "size app / device desk 1/1": "size app",
        "size android / build": "size android",
        "size android / device desk 1/1": "size android",
    }
