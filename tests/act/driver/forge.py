"""A forge of two repositories: the kit's and a stranger's, with GitHub's API next to them.

Runs are real (act), commits are real (git), and what the API reports of both is kept in step.
"""

import compileall
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from py_compile import PycInvalidationMode
from typing import Any

from filelock import FileLock

from act.driver.git import Remote, copy_tree
from act.driver.journal import Job
from act.driver.runner import DEVICE, HOSTED, Act, Run, stand_ins
from support.github_double import GithubDouble
from support.github_state import FORK_ID, Commit, Repository
from support.megtrim_cli import ROOT

KIT = "kit/megtrim"
KIT_VERSION = "v0.2.0"
STRANGER = "stranger/vision-app"
FORK = "mallory/vision-app"
BAIT = "pwned"
"""A file that appears in the home of the jobs' user where a name was taken for code."""
HOSTILE_BRANCH = 'faster";touch${IFS}$HOME/pwned;#<img>`touch${IFS}$HOME/pwned`'
HOSTILE_TITLE = (
    '$(touch $HOME/pwned) `touch $HOME/pwned` "; touch $HOME/pwned; # <img src=x> @all ]]>'
)
_NOT_IN_THE_KIT = ("tests/", "benchmarks/", "tools/")


class Forge:
    def __init__(
        self,
        root: Path,
        act: Act,
        github: GithubDouble,
        env: Mapping[str, str],
        *,
        kit: Remote | None = None,
    ) -> None:
        self.root = root
        self.act = act
        self.github = github
        self.env = dict(env)
        self.kit = kit or act.kit
        self.code = Remote(root / "remotes", STRANGER, root / "code")
        (root / "remotes" / "kit").symlink_to(self.kit.bare.parent)
        self.kit_sha = self.kit.git("rev-parse", "HEAD")
        self.api: Repository = github.repository(STRANGER)

    def push(self, files: Mapping[str, str | bytes | None], *, branch: str, message: str) -> str:
        heads = self.code.git("for-each-ref", "--format=%(refname:short)", "refs/heads").split()
        base = branch if branch in heads else "main"
        if not heads:
            base = ""
        sha = self.code.commit(files, message=message, branch=branch, base=base)
        self.know(sha)
        self.api.set_head(branch, sha)
        return sha

    def know(self, sha: str) -> None:
        for each in self.code.git("rev-list", "--reverse", sha).split():
            if each not in self.api.commits:
                files = self.code.files(each)
                self.api.add_tree(files)
                self.api.commits[each] = Commit(
                    sha=each, parents=self.code.parents(each), files=files, message="A change"
                )

    def open_pull(self, branch: str, title: str = HOSTILE_TITLE) -> int:
        return self.api.pull(branch, title=title)

    def mirror(self, branch: str) -> str:
        """Make a commit that was made by the API real, too; return its name in git."""
        made = self.api.commits[self.api.heads[branch]]
        parent = made.parents[0]
        before = self.api.commits[parent].files
        changed: dict[str, bytes | None] = dict.fromkeys(before.keys() - made.files.keys())
        changed |= {path: data for path, data in made.files.items() if before.get(path) != data}
        sha = self.code.commit(changed, message=made.message, branch=branch, base=parent)
        self.know(sha)
        self.api.set_head(branch, sha)
        return sha

    def merge(self, number: int) -> str:
        pull = self.api.pulls[number]
        branch = pull["base"]["ref"]
        head = self.api.heads[pull["head"]["ref"]]
        base = self.api.heads[branch]
        sha = self.code.merge(base, head, ref=f"refs/heads/{branch}")
        self.code.git("fetch", "--quiet", "origin", sha)
        self.code.git("checkout", "--quiet", "-B", branch, sha)
        self.know(sha)
        self.api.set_head(branch, sha)
        pull["state"] = "closed"
        return sha

    def run_pull(self, number: int, *, fork: bool = False, **more: Any) -> Run:
        """Run the size check for a pull request; ``fork``: it comes from a copy elsewhere."""
        pull = self.api.pulls[number]
        branch = pull["head"]["ref"]
        head = self.api.heads[pull["head"]["ref"]]
        base = self.api.heads["main"]
        merged = self.code.merge(base, head, ref=f"refs/pull/{number}/merge")
        home = {**self._about(), "id": FORK_ID, "full_name": FORK} if fork else self._about()
        event = {
            "action": "synchronize",
            "number": number,
            "pull_request": {
                "number": number,
                "title": pull["title"],
                "body": HOSTILE_TITLE,
                "draft": False,
                "user": {"login": "mallory"},
                "head": {"ref": branch, "sha": head, "label": branch, "repo": home},
                "base": {"ref": "main", "sha": base, "repo": self._about()},
            },
        }
        return self._run(
            "pull_request", event, head, branch, merged, f"refs/pull/{number}/merge", **more
        )

    def run_after(self, number: int, **more: Any) -> Run:
        """Run what follows the last run, which was for a pull request of a copy elsewhere."""
        run_id = max(self.api.runs)
        home = {"id": FORK_ID, "full_name": FORK}
        self.api.runs[run_id] |= {"path": ".github/workflows/megtrim.yml", "head_repository": home}
        self.api.pulls[number]["head"]["repo"] = home
        sha = self.api.heads["main"]
        event = {"action": "completed", "workflow_run": self.api.runs[run_id]}
        more["workflow"] = "megtrim-forks.yml"
        return self._run("workflow_run", event, sha, "main", sha, "refs/heads/main", **more)

    def run_push(self, **more: Any) -> Run:
        sha = self.api.heads["main"]
        before = self.code.parents(sha)[:1] or ("0" * 40,)
        event = {"ref": "refs/heads/main", "before": before[0], "after": sha}
        return self._run("push", event, sha, "main", sha, "refs/heads/main", **more)

    def run_tag(self, tag: str, sha: str, **more: Any) -> Run:
        ref = f"refs/tags/{tag}"
        event = {"ref": ref, "before": "0" * 40, "after": sha}
        workflow = "megtrim-release.yml"
        return self._run("push", event, sha, tag, sha, ref, workflow=workflow, **more)

    def run_dispatch(self, workflow: str, branch: str = "main", **more: Any) -> Run:
        sha = self.api.heads[branch]
        ref = f"refs/heads/{branch}"
        event = {"ref": ref, "inputs": more.pop("inputs", {}), "workflow": workflow}
        return self._run(
            "workflow_dispatch", event, sha, branch, sha, ref, workflow=workflow, **more
        )

    def _about(self) -> dict[str, Any]:
        return {**self.api.brief(), "fork": False, "private": False, "name": STRANGER.split("/")[1]}

    def _run(
        self,
        name: str,
        event: Mapping[str, Any],
        head: str,
        branch: str,
        sha: str,
        ref: str,
        *,
        workflow: str = "megtrim.yml",
        runners: Sequence[str] = (HOSTED, DEVICE),
        env: Mapping[str, str] | None = None,
        secrets: Mapping[str, str] | None = None,
        now: datetime | None = None,
    ) -> Run:
        self.api.now = now or datetime.now(UTC)
        run_id = self.api.run(
            head, event=name, branch=branch, status="in_progress", conclusion=None
        )
        self.api.jobs[run_id, 1] = [[]]
        scratch = self.root / f"run-{run_id}"
        (scratch / "ended").mkdir(parents=True)
        whole = {**event, "repository": self._about(), "sender": {"login": "mallory"}}
        (scratch / "event.json").write_text(json.dumps(whole), encoding="utf-8")
        folder = self.code.export(sha, scratch / "caller")

        def on_change(jobs: Mapping[str, Job]) -> None:
            listed = [_listed(job, run_id) for job in list(jobs.values())]
            for name in (job.name for job in jobs.values() if job.conclusion):
                (scratch / "ended" / name.replace("/", " of ")).touch()
            self.api.jobs[run_id, 1] = [listed]

        kit = f"--local-repository={KIT}@{self.kit_sha}={self.kit.work}"
        done = self.act.run(
            name,
            folder=folder,
            workflow=workflow,
            scratch=scratch,
            options=(kit, *stand_ins(self.kit.work)),
            env={
                **self.env,
                "GITHUB_RUN_ID": str(run_id),
                "GITHUB_API_URL": self.github.url,
                "GITHUB_REPOSITORY": STRANGER,
                "GITHUB_REPOSITORY_ID": str(self.api.id),
                "GITHUB_REF": ref,
                "SHA_REF": sha,  # act's name for what becomes GITHUB_SHA
                "MEGTRIM_STAND_IN_REPOSITORIES": str(self.root / "remotes"),
                "MEGTRIM_STAND_IN_CACHE": str(self.root / "cache"),
                "MEGTRIM_STAND_IN_ENDED": str(scratch / "ended"),
                **(env or {}),
            },
            token=self.github.token,
            secrets=secrets or {},
            runners=runners,
            on_change=on_change,
        )
        conclusion = "success" if done.rc == 0 else "failure"
        self.api.runs[run_id] |= {"status": "completed", "conclusion": conclusion}
        for artifact, file in done.artifacts.items():
            self.api.artifact(run_id, file.read_bytes(), name=artifact)
        return done


def serve_git(root: Path, settings: Path) -> dict[str, str]:
    """Return the variables by which a job's git takes the forge's repositories for GitHub's.

    ``root`` is the forge's, ``settings`` a folder for git's own.
    """
    (settings / "git").mkdir()
    (settings / "git" / "config").write_text(
        f'[url "{(root / "remotes").as_uri()}/"]\n\tinsteadOf = https://github.com/\n',
        encoding="utf-8",
    )
    return {"XDG_CONFIG_HOME": str(settings)}


def _listed(job: Job, run_id: int) -> dict[str, Any]:
    status = "in_progress" if job.taken else "queued"
    if job.conclusion:
        status = "completed"
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {
        "id": abs(hash(job.name)) % 10**9,
        "run_id": run_id,
        "name": f"{job.caller} / {job.name}",
        "status": status,
        "conclusion": job.conclusion or None,
        "started_at": now if job.taken else None,
        "completed_at": now if job.conclusion else None,
        "runner_id": 7 if job.taken else None,
        "runner_name": "runner" if job.taken else "",
    }


def provide_kit(root: Path) -> Remote:
    """Commit this tree, as it is now, with its bytecode, as the kit's repository, once."""
    with FileLock(f"{root}.lock"):
        made = root.exists()
        kit = Remote(root / "remotes", KIT, root / "kit")
        if not made:
            _fill(kit)
    return kit


def _fill(kit: Remote) -> None:
    listed = kit.git("ls-files", "-co", "--exclude-standard", cwd=ROOT).splitlines()
    copy_tree(ROOT, kit.work, (name for name in listed if not name.startswith(_NOT_IN_THE_KIT)))
    # Each job has a checkout of its own, and would compile megtrim's modules for itself.
    unchecked = PycInvalidationMode.UNCHECKED_HASH
    assert compileall.compile_dir(kit.work / "ci", quiet=1, invalidation_mode=unchecked)
    kit.git("add", "--force", "ci")
    sha = kit.save(message="The kit", branch="main")
    kit.git("push", "--quiet", "origin", f"{sha}:refs/tags/{KIT_VERSION}")
